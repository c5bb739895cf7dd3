//! OpenAPI documents in protobuf: they say what those in JSON say.
//!
//! They are read here by the field numbers of the published messages (`openapi.v2` and
//! `openapi.v3`) and become JSON again: what the server leaves out, puts elsewhere or writes in
//! another form is a difference. Version 3 alone has no place for defaults that are maps or lists.

mod fields;
pub(crate) mod references;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::harness::Server;
use fields::Form::{
    Any, Anys, Count, Double, Entries, Extensions, Flag, Is, IsFlag, IsNumber, IsText, Lists, Many,
    One, Text, Texts,
};
use fields::fields;

const V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

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

    fn count(&self) -> Value {
        let Self::Number(number) = self else { panic!("no whole number") };
        (*number).into()
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
            Count => (name.to_owned(), payload.count()),
            Double => (name.to_owned(), payload.number()),
            Any => (name.to_owned(), any(payload.bytes())),
            One(inner) => (name.to_owned(), read(inner, payload.bytes())),
            Entries(inner) => entry(payload.bytes(), |bytes| read(inner, bytes)),
            Extensions => entry(payload.bytes(), any),
            Lists => entry(payload.bytes(), |bytes| {
                parts(bytes).iter().map(|(_, item)| item.text()).collect()
            }),
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
                let value =
                    |map: &Map<String, Value>| map.get(name).cloned().unwrap_or(absent.clone());
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
        assert!(
            json["definitions"].as_object().unwrap().len() > 300,
            "a document about everything"
        );
        let operation = &read["paths"]["/api/v1/namespaces/{namespace}/configmaps"]["post"];
        assert_eq!(operation["operationId"], "createCoreV1NamespacedConfigMap");
    }
}

/// Takes away the defaults of schemas that are maps or lists; of names of properties, which may be
/// `default` as well, it takes none.
fn drop_other_defaults(value: &mut Value, are_names: bool) {
    match value {
        Value::Object(map) => {
            if !are_names
                && map.get("default").is_some_and(|value| value.is_object() || value.is_array())
            {
                map.remove("default");
            }
            map.iter_mut().for_each(|(name, value)| {
                drop_other_defaults(value, !are_names && name == "properties")
            });
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_other_defaults(item, false)),
        _ => {}
    }
}

/// Where the document with this URL differs between its forms.
pub(crate) async fn difference_of_forms(server: &Server, url: &str) -> Option<String> {
    let mut json = server.get(url).await.json();
    let (media, message) = if url == "/openapi/v2" {
        (V2, "Document")
    } else {
        drop_other_defaults(&mut json, false);
        (V3, "3.Document")
    };
    difference("", &json, &read(message, &server.get_as(url, media).await.body))
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
    let port =
        &read["components"]["schemas"]["io.svc.api.core.v1.ServicePort"]["properties"]["port"];
    assert_eq!(
        (&port["type"], &port["default"]),
        (&Value::from("integer"), &Value::from(0)),
        "{port}"
    );
}
