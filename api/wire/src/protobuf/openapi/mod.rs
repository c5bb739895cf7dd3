//! OpenAPI documents in protobuf (gnostic): of version 2, in the only form that kubectl requests it
//! in, and of version 3.
//!
//! The messages are tables: JSON name, field number, form. What no table names is omitted, except
//! extensions (`x-…`), which every message keeps as YAML.

mod v2;
mod v3;

use quorate_meta::{Map, Value};

use super::writer;
use crate::json;

/// The name and the value of an entry of a map.
const NAME: u32 = 1;
const VALUE: u32 = 2;
/// The only field of messages that hold a list or an alternative.
const FIRST: u32 = 1;

/// A message: its fields, and the number of its extensions.
struct Message {
    fields: &'static [(&'static str, u32, Form)],
    extensions: Option<u32>,
    /// The field of the reference, where this message is an alternative to one.
    reference: Option<&'static Message>,
}

/// The encoding of a field.
enum Form {
    Text,
    Flag,
    /// A whole number.
    Count,
    /// Any number.
    Double,
    Texts,
    /// Any JSON.
    Any,
    Anys,
    Part(&'static Message),
    /// Nested messages with a single field each, as deep as there are numbers.
    Nested(&'static [u32], &'static Message),
    /// A map: the number of its entries, the wrapping of each value, and the values.
    Named(u32, &'static [u32], &'static Message),
    /// A list of messages.
    Parts(&'static Message),
    /// A list of another form.
    Each(&'static Form),
    Parameters,
    /// A schema or a boolean.
    Allowance(&'static Message),
    /// A single string in a list.
    Type,
    /// A number, boolean or string; other values are omitted.
    Plain,
}

/// A document of version 2 as a message.
#[must_use]
pub fn openapi_v2(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    content(&v2::DOCUMENT, document, &mut out);
    out
}

/// Paths of a document of version 2 as fields of the message of all paths.
#[must_use]
pub fn openapi_v2_paths(paths: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    entries(v2::PATH_ENTRY, &[], &v2::PATH, paths, &mut out);
    out
}

/// Definitions of a document of version 2 as fields of the message of all definitions.
#[must_use]
pub fn openapi_v2_definitions(definitions: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    entries(v2::DEFINITION_ENTRY, &[], &v2::SCHEMA, definitions, &mut out);
    out
}

/// What stands in the message of a document of version 2 before so many bytes of paths or, with
/// `definitions`, of definitions.
#[must_use]
pub fn openapi_v2_head(definitions: bool, bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let tag = if definitions { v2::DEFINITIONS } else { v2::PATHS };
    writer::bytes_head(tag, bytes as u64, &mut out);
    out
}

/// A document of version 3 as a message. Defaults that are maps or lists are omitted.
#[must_use]
pub fn openapi_v3(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    content(&v3::DOCUMENT, document, &mut out);
    out
}

/// Appends a message field.
fn within(tag: u32, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    append(&mut inner);
    writer::bytes(tag, &inner, out);
}

fn content(message: &Message, value: &Value, out: &mut Vec<u8>) {
    const ITSELF: u32 = 1;
    const REFERENCE: u32 = 2;
    match message.reference {
        None => fields(message, value, out),
        Some(reference) if value.get("$ref").is_some() => {
            within(REFERENCE, out, |out| fields(reference, value, out))
        }
        Some(_) => within(ITSELF, out, |out| fields(message, value, out)),
    }
}

fn fields(message: &Message, value: &Value, out: &mut Vec<u8>) {
    for (name, tag, form) in message.fields {
        // A field without a name is the value itself.
        if let Some(value) = if name.is_empty() { Some(value) } else { value.get(name) } {
            field(*tag, form, value, out);
        }
    }
    let extensions =
        value.as_map().filter(|_| message.extensions.is_some()).into_iter().flat_map(Map::iter);
    for (name, value) in extensions.filter(|(name, _)| name.starts_with("x-")) {
        entry(message.extensions.unwrap_or_default(), name, out, |out| any(value, out));
    }
}

fn field(tag: u32, form: &Form, value: &Value, out: &mut Vec<u8>) {
    let text = |tag: u32, value: &Value, out: &mut Vec<u8>| {
        writer::bytes(tag, value.as_str().unwrap_or_default().as_bytes(), out);
    };
    let items = value.as_list().unwrap_or_default();
    match form {
        Form::Text => text(tag, value, out),
        Form::Flag => writer::number(tag, i64::from(value.as_bool().unwrap_or_default()), out),
        Form::Count => writer::number(tag, whole(value), out),
        Form::Double => writer::double(tag, value.as_f64().unwrap_or_default(), out),
        Form::Texts => items.iter().for_each(|item| text(tag, item, out)),
        Form::Any => within(tag, out, |out| any(value, out)),
        Form::Anys => items.iter().for_each(|item| within(tag, out, |out| any(item, out))),
        Form::Part(message) => within(tag, out, |out| content(message, value, out)),
        Form::Parts(message) => {
            items.iter().for_each(|item| within(tag, out, |out| content(message, item, out)))
        }
        Form::Each(form) => items.iter().for_each(|item| field(tag, form, item, out)),
        Form::Nested(around, message) => {
            within(tag, out, |out| nested(around, message, value, out))
        }
        Form::Named(own, around, message) => within(tag, out, |out| {
            value.as_map().into_iter().for_each(|map| entries(*own, around, message, map, out));
        }),
        Form::Parameters => {
            items.iter().for_each(|item| within(tag, out, |out| v2::parameter(item, out)))
        }
        Form::Allowance(message) => within(tag, out, |out| match value {
            Value::Bool(allowed) => writer::number(VALUE, i64::from(*allowed), out),
            schema => within(FIRST, out, |out| content(message, schema, out)),
        }),
        Form::Type => within(tag, out, |out| text(FIRST, value, out)),
        Form::Plain if matches!(value, Value::Null | Value::List(_) | Value::Map(_)) => {}
        Form::Plain => within(tag, out, |out| plain(value, out)),
    }
}

fn nested(around: &[u32], message: &Message, value: &Value, out: &mut Vec<u8>) {
    match around.split_first() {
        Some((tag, rest)) => within(*tag, out, |out| nested(rest, message, value, out)),
        None => content(message, value, out),
    }
}

fn entries(tag: u32, around: &[u32], message: &Message, map: &Map, out: &mut Vec<u8>) {
    for (name, value) in map.iter() {
        entry(tag, name, out, |out| nested(around, message, value, out));
    }
}

fn entry(tag: u32, name: &str, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    within(tag, out, |out| {
        writer::bytes(NAME, name.as_bytes(), out);
        within(VALUE, out, value);
    });
}

fn plain(value: &Value, out: &mut Vec<u8>) {
    const NUMBER: u32 = 1;
    const FLAG: u32 = 2;
    const TEXT: u32 = 3;
    match value {
        Value::Bool(flag) => writer::number(FLAG, i64::from(*flag), out),
        Value::String(text) => writer::bytes(TEXT, text.as_bytes(), out),
        number => writer::double(NUMBER, number.as_f64().unwrap_or_default(), out),
    }
}

/// A whole number, also where it is written with a fraction.
#[expect(clippy::cast_possible_truncation, reason = "a float becomes the closest whole number")]
fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as i64)
}

/// YAML text of a value; JSON is YAML.
fn any(value: &Value, out: &mut Vec<u8>) {
    const YAML: u32 = 2;
    writer::bytes(YAML, &json::to_vec(value), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expect: &[u8]) {
        let written = openapi_v2(&json::parse(document.as_bytes()).expect("JSON").0);
        assert_eq!(written, expect, "{document}");
    }

    #[test]
    fn documents() {
        check(r#"{"swagger":"2.0","unknown":1}"#, b"\x0a\x032.0");
        check(r#"{"x-a":[1]}"#, b"\x82\x01\x0c\x0a\x03x-a\x12\x05\x12\x03[1]");
        check(
            r##"{"definitions":{"a":{"$ref":"#/b","type":"array","items":{"type":"string"}}}}"##,
            b"\x4a\x26\x0a\x24\x0a\x01a\x12\x1f\x0a\x03#/b\xb2\x01\x07\x0a\x05array\xba\x01\x0d\x0a\x0b\xb2\x01\x08\x0a\x06string",
        );
    }

    #[test]
    fn parts_are_what_a_document_has() {
        let (document, _) = json::parse(
            br#"{"paths":{"/p":{"get":{"operationId":"a"}}},"definitions":{"a":{"maximum":1.5,"minLength":2}}}"#,
        )
        .expect("JSON");
        let map = |name: &str| document.get(name).and_then(Value::as_map).expect("a map").clone();
        let paths = openapi_v2_paths(&map("paths"));
        let definitions = openapi_v2_definitions(&map("definitions"));
        let pieces = [
            openapi_v2_head(false, paths.len()),
            paths,
            openapi_v2_head(true, definitions.len()),
            definitions,
        ];
        assert_eq!(openapi_v2(&document), pieces.concat());
    }

    #[test]
    fn security() {
        check(
            r#"{"security":[{"a":[]},{"b":["c"]}]}"#,
            b"\x62\x07\x0a\x05\x0a\x01a\x12\x00\x62\x0a\x0a\x08\x0a\x01b\x12\x03\x0a\x01c",
        );
        check(
            r#"{"securityDefinitions":{"a":{"type":"apiKey","in":"header"}}}"#,
            b"\x6a\x19\x0a\x17\x0a\x01a\x12\x12\x12\x10\x0a\x06apiKey\x1a\x06header",
        );
    }

    #[test]
    fn operations() {
        check(
            r#"{"paths":{"/p":{"get":{"parameters":[{"in":"query","name":"q"}],"responses":{"200":{"description":"OK"}}}}}}"#,
            b"\x42\x2d\x12\x2b\x0a\x02/p\x12\x25\x12\x23\x42\x10\x0a\x0e\x12\x0c\x1a\x0a\x12\x05query\x22\x01q\x4a\x0f\x0a\x0d\x0a\x03200\x12\x06\x0a\x04\x0a\x02OK",
        );
    }
}
