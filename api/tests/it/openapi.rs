//! The OpenAPI document of version 2 in protobuf says what the one in JSON says.
//!
//! It is read here by the field numbers of the published messages (`openapi.v2`), each with all that a document may have at that
//! place, and becomes JSON again: what the server leaves out, puts elsewhere or writes in another form is a difference.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::harness::Server;

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// How a field is read.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Texts,
    Flag,
    /// A text that is JSON, inside of a message.
    Any,
    Anys,
    One(&'static str),
    Many(&'static str),
    /// Entries of the map that the message is, each with a name and a message.
    Entries(&'static str),
    /// Entries of the map that the message is, each with a name and any JSON.
    Extensions,
    /// The message is this, and nothing else.
    Is(&'static str),
    IsFlag,
    IsText,
}

use Form::{Any, Anys, Entries, Extensions, Flag, Is, IsFlag, IsText, Many, One, Text, Texts};

/// The fields of a message: number, name in JSON, form.
fn fields(message: &str) -> &'static [(u32, &'static str, Form)] {
    match message {
        "Document" => &[
            (1, "swagger", Text),
            (2, "info", One("Info")),
            (3, "host", Text),
            (4, "basePath", Text),
            (5, "schemes", Texts),
            (6, "consumes", Texts),
            (7, "produces", Texts),
            (8, "paths", One("Paths")),
            (9, "definitions", One("Definitions")),
            (16, "", Extensions),
        ],
        "Info" => &[
            (1, "title", Text),
            (2, "version", Text),
            (3, "description", Text),
            (4, "termsOfService", Text),
            (7, "", Extensions),
        ],
        "Paths" => &[(1, "", Extensions), (2, "", Entries("PathItem"))],
        "Definitions" | "Properties" => &[(1, "", Entries("Schema"))],
        "PathItem" => &[
            (1, "$ref", Text),
            (2, "get", One("Operation")),
            (3, "put", One("Operation")),
            (4, "post", One("Operation")),
            (5, "delete", One("Operation")),
            (6, "options", One("Operation")),
            (7, "head", One("Operation")),
            (8, "patch", One("Operation")),
            (9, "parameters", Many("ParametersItem")),
            (10, "", Extensions),
        ],
        "Operation" => &[
            (1, "tags", Texts),
            (2, "summary", Text),
            (3, "description", Text),
            (5, "operationId", Text),
            (6, "produces", Texts),
            (7, "consumes", Texts),
            (8, "parameters", Many("ParametersItem")),
            (9, "responses", One("Responses")),
            (10, "schemes", Texts),
            (11, "deprecated", Flag),
            (13, "", Extensions),
        ],
        "ParametersItem" => &[(1, "", Is("Parameter")), (2, "", Is("JsonReference"))],
        "JsonReference" => &[(1, "$ref", Text), (2, "description", Text)],
        "Parameter" => &[(1, "", Is("BodyParameter")), (2, "", Is("NonBodyParameter"))],
        "NonBodyParameter" => &[
            (1, "", Is("HeaderOrPathParameter")),
            (2, "", Is("FormOrQueryParameter")),
            (3, "", Is("FormOrQueryParameter")),
            (4, "", Is("HeaderOrPathParameter")),
        ],
        "BodyParameter" => &[
            (1, "description", Text),
            (2, "name", Text),
            (3, "in", Text),
            (4, "required", Flag),
            (5, "schema", One("Schema")),
            (6, "", Extensions),
        ],
        "HeaderOrPathParameter" => &[
            (1, "required", Flag),
            (2, "in", Text),
            (3, "description", Text),
            (4, "name", Text),
            (5, "type", Text),
            (6, "format", Text),
            (8, "collectionFormat", Text),
            (9, "default", Any),
            (16, "pattern", Text),
            (19, "uniqueItems", Flag),
            (20, "enum", Anys),
            (22, "", Extensions),
        ],
        "FormOrQueryParameter" => &[
            (1, "required", Flag),
            (2, "in", Text),
            (3, "description", Text),
            (4, "name", Text),
            (5, "allowEmptyValue", Flag),
            (6, "type", Text),
            (7, "format", Text),
            (9, "collectionFormat", Text),
            (10, "default", Any),
            (17, "pattern", Text),
            (20, "uniqueItems", Flag),
            (21, "enum", Anys),
            (23, "", Extensions),
        ],
        "Responses" => &[(1, "", Entries("ResponseValue")), (2, "", Extensions)],
        "ResponseValue" => &[(1, "", Is("Response")), (2, "", Is("JsonReference"))],
        "Response" => &[(1, "description", Text), (2, "schema", One("SchemaItem")), (5, "", Extensions)],
        "SchemaItem" => &[(1, "", Is("Schema"))],
        "Schema" => &[
            (1, "$ref", Text),
            (2, "format", Text),
            (3, "title", Text),
            (4, "description", Text),
            (5, "default", Any),
            (10, "exclusiveMinimum", Flag),
            (13, "pattern", Text),
            (16, "uniqueItems", Flag),
            (19, "required", Texts),
            (20, "enum", Anys),
            (21, "additionalProperties", One("AdditionalPropertiesItem")),
            (22, "type", One("TypeItem")),
            (23, "items", One("ItemsItem")),
            (24, "allOf", Many("Schema")),
            (25, "properties", One("Properties")),
            (26, "discriminator", Text),
            (27, "readOnly", Flag),
            (30, "example", Any),
            (31, "", Extensions),
        ],
        "AdditionalPropertiesItem" => &[(1, "", Is("Schema")), (2, "", IsFlag)],
        "TypeItem" => &[(1, "", IsText)],
        "ItemsItem" => &[(1, "", Is("Schema"))],
        other => panic!("{other} is no message"),
    }
}

/// What a field has: a number, or bytes.
enum Payload<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Payload<'a> {
    fn bytes(&self) -> &'a [u8] {
        let Self::Bytes(bytes) = self else { panic!("a number in place of bytes") };
        bytes
    }

    fn text(&self) -> Value {
        std::str::from_utf8(self.bytes()).unwrap().into()
    }

    fn flag(&self) -> Value {
        let Self::Number(number @ (0 | 1)) = self else { panic!("no flag") };
        (*number == 1).into()
    }
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().expect("a number that ends");
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number of more than ten bytes")
}

/// The fields of a message in the order in which they are written.
fn parts(mut rest: &[u8]) -> Vec<(u32, Payload<'_>)> {
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let key = varint(&mut rest);
        let payload = match key & 7 {
            0 => Payload::Number(varint(&mut rest)),
            2 => {
                let length = usize::try_from(varint(&mut rest)).unwrap();
                let (bytes, after) = rest.split_at(length);
                rest = after;
                Payload::Bytes(bytes)
            }
            other => panic!("wire type {other}"),
        };
        parts.push((u32::try_from(key >> 3).unwrap(), payload));
    }
    parts
}

/// Any JSON: a text inside of a message.
fn any(bytes: &[u8]) -> Value {
    match parts(bytes).as_slice() {
        [(2, text)] => serde_json::from_slice(text.bytes()).unwrap(),
        _ => panic!("something else than a text"),
    }
}

/// A name, and what has it.
fn entry(bytes: &[u8], value: impl Fn(&[u8]) -> Value) -> (String, Value) {
    match parts(bytes).as_slice() {
        [(1, name), (2, named)] => (name.text().as_str().unwrap().to_owned(), value(named.bytes())),
        _ => panic!("something else than a name and a value"),
    }
}

fn read(message: &str, bytes: &[u8]) -> Value {
    let mut map = Map::new();
    let mut lists: HashSet<&str> = HashSet::new();
    for (number, payload) in parts(bytes) {
        let field = fields(message).iter().find(|(own, ..)| *own == number);
        let (_, name, form) = *field.unwrap_or_else(|| panic!("{message} has a field {number}"));
        let (name, value) = match form {
            Text => (name.to_owned(), payload.text()),
            Flag => (name.to_owned(), payload.flag()),
            Any => (name.to_owned(), any(payload.bytes())),
            One(inner) => (name.to_owned(), read(inner, payload.bytes())),
            Entries(inner) => entry(payload.bytes(), |bytes| read(inner, bytes)),
            Extensions => entry(payload.bytes(), any),
            Is(inner) => return read(inner, payload.bytes()),
            IsFlag => return payload.flag(),
            IsText => return payload.text(),
            Texts | Anys | Many(_) => {
                let item = match form {
                    Texts => payload.text(),
                    Many(inner) => read(inner, payload.bytes()),
                    _ => any(payload.bytes()),
                };
                lists.insert(name);
                let list = map.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().unwrap().push(item);
                continue;
            }
        };
        assert!(!lists.contains(name.as_str()), "{message} has {name} as a list too");
        assert!(map.insert(name.clone(), value).is_none(), "{message} has {name} twice");
    }
    Value::Object(map)
}

/// Where two documents differ first.
fn difference(path: &str, left: &Value, right: &Value) -> Option<String> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let names: HashSet<&String> = left.keys().chain(right.keys()).collect();
            names.into_iter().find_map(|name| {
                let absent = Value::from("(absent)");
                let value = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or(absent.clone());
                difference(&format!("{path}/{name}"), &value(left), &value(right))
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(at, (left, right))| difference(&format!("{path}[{at}]"), left, right))
        }
        _ => (left != right).then(|| format!("{path}: {left} in JSON, {right} in protobuf")),
    }
}

#[tokio::test]
async fn the_document_of_version_2_is_the_same_in_protobuf() {
    for gates in ["", "CBORServingAndStorage=true"] {
        let server = if gates.is_empty() { Server::new() } else { Server::with_gates(gates).await };
        let json = server.get("/openapi/v2").await.json();
        let whole = server.get_as("/openapi/v2", PROTOBUF).await;
        let read = read("Document", &whole.body);
        assert_eq!(difference("", &json, &read), None);
        assert!(json["definitions"].as_object().unwrap().len() > 300, "a document about everything");
        let operation = &read["paths"]["/api/v1/namespaces/{namespace}/configmaps"]["post"];
        assert_eq!(operation["operationId"], "createCoreV1NamespacedConfigMap");
    }
}
