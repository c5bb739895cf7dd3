//! OpenAPI documents in protobuf say what those in JSON say.
//!
//! They are read here by the field numbers of the published messages (`openapi.v2` and `openapi.v3`) and become JSON again: what
//! the server leaves out, puts elsewhere or writes in another form is a difference. Version 3 alone has no place for defaults that are maps or lists.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::harness::Server;

const V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

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
    IsNumber,
}

use Form::{Any, Anys, Entries, Extensions, Flag, Is, IsFlag, IsNumber, IsText, Many, One, Text, Texts};

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
        "3.Document" => &[
            (1, "openapi", Text),
            (2, "info", One("3.Info")),
            (4, "paths", One("3.Paths")),
            (5, "components", One("3.Components")),
            (9, "", Extensions),
        ],
        "3.Info" => &[
            (1, "title", Text),
            (2, "description", Text),
            (3, "termsOfService", Text),
            (6, "version", Text),
            (7, "", Extensions),
            (8, "summary", Text),
        ],
        "3.Paths" => &[(1, "", Entries("3.PathItem")), (2, "", Extensions)],
        "3.Components" => &[(1, "schemas", One("3.Schemas")), (10, "", Extensions)],
        "3.Schemas" => &[(1, "", Entries("3.SchemaOrReference"))],
        "3.SchemaOrReference" => &[(1, "", Is("3.Schema")), (2, "", Is("3.Reference"))],
        "3.Reference" => &[(1, "$ref", Text), (2, "summary", Text), (3, "description", Text)],
        "3.PathItem" => &[
            (1, "$ref", Text),
            (2, "summary", Text),
            (3, "description", Text),
            (4, "get", One("3.Operation")),
            (5, "put", One("3.Operation")),
            (6, "post", One("3.Operation")),
            (7, "delete", One("3.Operation")),
            (8, "options", One("3.Operation")),
            (9, "head", One("3.Operation")),
            (10, "patch", One("3.Operation")),
            (11, "trace", One("3.Operation")),
            (13, "parameters", Many("3.ParameterOrReference")),
            (14, "", Extensions),
        ],
        "3.Operation" => &[
            (1, "tags", Texts),
            (2, "summary", Text),
            (3, "description", Text),
            (5, "operationId", Text),
            (6, "parameters", Many("3.ParameterOrReference")),
            (7, "requestBody", One("3.RequestBodyOrReference")),
            (8, "responses", One("3.Responses")),
            (10, "deprecated", Flag),
            (13, "", Extensions),
        ],
        "3.ParameterOrReference" => &[(1, "", Is("3.Parameter")), (2, "", Is("3.Reference"))],
        "3.Parameter" => &[
            (1, "name", Text),
            (2, "in", Text),
            (3, "description", Text),
            (4, "required", Flag),
            (5, "deprecated", Flag),
            (6, "allowEmptyValue", Flag),
            (7, "style", Text),
            (8, "explode", Flag),
            (9, "allowReserved", Flag),
            (10, "schema", One("3.SchemaOrReference")),
            (11, "example", Any),
            (13, "content", One("3.MediaTypes")),
            (14, "", Extensions),
        ],
        "3.RequestBodyOrReference" => &[(1, "", Is("3.RequestBody")), (2, "", Is("3.Reference"))],
        "3.RequestBody" => {
            &[(1, "description", Text), (2, "content", One("3.MediaTypes")), (3, "required", Flag), (4, "", Extensions)]
        }
        "3.MediaTypes" => &[(1, "", Entries("3.MediaType"))],
        "3.MediaType" => &[(1, "schema", One("3.SchemaOrReference")), (2, "example", Any), (5, "", Extensions)],
        "3.Responses" => &[
            (1, "default", One("3.ResponseOrReference")),
            (2, "", Entries("3.ResponseOrReference")),
            (3, "", Extensions),
        ],
        "3.ResponseOrReference" => &[(1, "", Is("3.Response")), (2, "", Is("3.Reference"))],
        "3.Response" => &[(1, "description", Text), (3, "content", One("3.MediaTypes")), (5, "", Extensions)],
        "3.Schema" => &[
            (1, "nullable", Flag),
            (3, "readOnly", Flag),
            (4, "writeOnly", Flag),
            (7, "example", Any),
            (8, "deprecated", Flag),
            (9, "title", Text),
            (17, "pattern", Text),
            (20, "uniqueItems", Flag),
            (23, "required", Texts),
            (24, "enum", Anys),
            (25, "type", Text),
            (26, "allOf", Many("3.SchemaOrReference")),
            (27, "oneOf", Many("3.SchemaOrReference")),
            (28, "anyOf", Many("3.SchemaOrReference")),
            (29, "not", One("3.Schema")),
            (30, "items", One("3.ItemsItem")),
            (31, "properties", One("3.Schemas")),
            (32, "additionalProperties", One("3.AdditionalPropertiesItem")),
            (33, "default", One("3.DefaultType")),
            (34, "description", Text),
            (35, "format", Text),
            (36, "", Extensions),
        ],
        "3.ItemsItem" => &[(1, "", Is("3.SchemaOrReference"))],
        "3.AdditionalPropertiesItem" => &[(1, "", Is("3.SchemaOrReference")), (2, "", IsFlag)],
        "3.DefaultType" => &[(1, "", IsNumber), (2, "", IsFlag), (3, "", IsText)],
        other => panic!("{other} is no message"),
    }
}

/// What a field has: a number, or bytes.
enum Payload<'a> {
    Number(u64),
    Double(f64),
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

    /// As JSON has it: whole numbers without a point.
    #[expect(clippy::cast_possible_truncation, reason = "it is compared with what it came from")]
    fn number(&self) -> Value {
        let Self::Double(number) = self else { panic!("no number") };
        if number.fract() == 0.0 { (*number as i64).into() } else { (*number).into() }
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
            1 => {
                let (bytes, after) = rest.split_first_chunk().expect("eight bytes");
                rest = after;
                Payload::Double(f64::from_le_bytes(*bytes))
            }
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
            IsNumber => return payload.number(),
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
        let whole = server.get_as("/openapi/v2", V2).await;
        let read = read("Document", &whole.body);
        assert_eq!(difference("", &json, &read), None);
        assert!(json["definitions"].as_object().unwrap().len() > 300, "a document about everything");
        let operation = &read["paths"]["/api/v1/namespaces/{namespace}/configmaps"]["post"];
        assert_eq!(operation["operationId"], "createCoreV1NamespacedConfigMap");
    }
}

/// Takes away the defaults of schemas that are maps or lists; of names of properties, which may be `default` as well, it takes none.
fn drop_other_defaults(value: &mut Value, are_names: bool) {
    match value {
        Value::Object(map) => {
            if !are_names && map.get("default").is_some_and(|value| value.is_object() || value.is_array()) {
                map.remove("default");
            }
            map.iter_mut().for_each(|(name, value)| drop_other_defaults(value, !are_names && name == "properties"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_other_defaults(item, false)),
        _ => {}
    }
}

#[tokio::test]
async fn the_documents_of_version_3_are_the_same_in_protobuf() {
    let server = Server::new();
    let index = server.get("/openapi/v3").await.json();
    let parts = index["paths"].as_object().unwrap();
    assert!(parts.len() > 30, "{} documents", parts.len());
    for part in parts.values() {
        let url = part["serverRelativeURL"].as_str().unwrap();
        let mut json = server.get(url).await.json();
        drop_other_defaults(&mut json, false);
        let read = read("3.Document", &server.get_as(url, V3).await.body);
        assert_eq!(difference("", &json, &read), None, "{url}");
    }
    let core = parts["api/v1"]["serverRelativeURL"].as_str().unwrap();
    let read = read("3.Document", &server.get_as(core, V3).await.body);
    let port = &read["components"]["schemas"]["io.svc.api.core.v1.ServicePort"]["properties"]["port"];
    assert_eq!((&port["type"], &port["default"]), (&Value::from("integer"), &Value::from(0)), "{port}");
}
