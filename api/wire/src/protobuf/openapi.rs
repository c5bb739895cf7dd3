//! An OpenAPI document of version 2 as a message, which is the only form in which kubectl asks for it: to validate objects of
//! kinds that cannot be patched.
//!
//! The messages (`openapi.v2`) are tables here: name in JSON, field number, form. What no table names is left out, except
//! extensions (`x-…`), which every message keeps as YAML.

use quorate_meta::{Map, Value};

use super::writer;
use crate::json;

/// The name and the value of an entry of a map.
const NAME: u32 = 1;
const VALUE: u32 = 2;
/// The one field of messages that only hold a list or an alternative.
const FIRST: u32 = 1;

/// A message: its fields, and the number of its extensions.
struct Message {
    fields: &'static [(&'static str, u32, Form)],
    extensions: Option<u32>,
}

/// How a field is written.
enum Form {
    Text,
    Flag,
    Texts,
    /// Any JSON.
    Any,
    Anys,
    Part(&'static Message),
    /// Parts inside of messages that hold nothing else, as deep as there are numbers.
    Nested(&'static [u32], &'static Message),
    /// A map: the number of its entries, what is around each value, and the values.
    Named(u32, &'static [u32], &'static Message),
    /// A list of parts.
    Parts(&'static Message),
    Parameters,
    /// A schema, or whether anything goes.
    Allowance,
    /// One text in a list.
    Type,
}

static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Form::Text),
        ("info", 2, Form::Part(&INFO)),
        ("paths", 8, Form::Named(2, &[], &PATH)),
        ("definitions", 9, Form::Named(1, &[], &SCHEMA)),
    ],
    extensions: Some(16),
};

static INFO: Message = Message { fields: &[("title", 1, Form::Text), ("version", 2, Form::Text)], extensions: Some(7) };

static PATH: Message = Message {
    fields: &[
        ("get", 2, Form::Part(&OPERATION)),
        ("put", 3, Form::Part(&OPERATION)),
        ("post", 4, Form::Part(&OPERATION)),
        ("delete", 5, Form::Part(&OPERATION)),
        ("options", 6, Form::Part(&OPERATION)),
        ("head", 7, Form::Part(&OPERATION)),
        ("patch", 8, Form::Part(&OPERATION)),
        ("parameters", 9, Form::Parameters),
    ],
    extensions: Some(10),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Form::Texts),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("produces", 6, Form::Texts),
        ("consumes", 7, Form::Texts),
        ("parameters", 8, Form::Parameters),
        ("responses", 9, Form::Named(1, &[1], &RESPONSE)),
        ("schemes", 10, Form::Texts),
        ("deprecated", 11, Form::Flag),
    ],
    extensions: Some(13),
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Form::Text), ("schema", 2, Form::Nested(&[1], &SCHEMA))],
    extensions: Some(5),
};

static BODY_PARAMETER: Message = Message {
    fields: &[
        ("description", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 5, Form::Part(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 6, Form::Text),
        ("format", 7, Form::Text),
        ("uniqueItems", 20, Form::Flag),
    ],
    extensions: Some(23),
};

/// Of headers and paths.
static OTHER_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 5, Form::Text),
        ("format", 6, Form::Text),
        ("uniqueItems", 19, Form::Flag),
    ],
    extensions: Some(22),
};

static REFERENCE: Message =
    Message { fields: &[("$ref", 1, Form::Text), ("description", 2, Form::Text)], extensions: None };

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Form::Text),
        ("format", 2, Form::Text),
        ("title", 3, Form::Text),
        ("description", 4, Form::Text),
        ("default", 5, Form::Any),
        ("required", 19, Form::Texts),
        ("enum", 20, Form::Anys),
        ("additionalProperties", 21, Form::Allowance),
        ("type", 22, Form::Type),
        ("items", 23, Form::Nested(&[], &ITEMS)),
        ("allOf", 24, Form::Parts(&SCHEMA)),
        ("properties", 25, Form::Named(1, &[], &SCHEMA)),
    ],
    extensions: Some(31),
};

/// A message around the one schema of a list's elements.
static ITEMS: Message = Message { fields: &[("", FIRST, Form::Part(&SCHEMA))], extensions: None };

/// The document as a message.
#[must_use]
pub fn openapi(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    content(&DOCUMENT, document, &mut out);
    out
}

/// Appends a message field.
fn within(tag: u32, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    append(&mut inner);
    writer::bytes(tag, &inner, out);
}

fn content(message: &Message, value: &Value, out: &mut Vec<u8>) {
    for (name, tag, form) in message.fields {
        // A field without a name is the value itself.
        if let Some(value) = if name.is_empty() { Some(value) } else { value.get(name) } {
            field(*tag, form, value, out);
        }
    }
    let extensions = value.as_map().filter(|_| message.extensions.is_some()).into_iter().flat_map(Map::iter);
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
        Form::Texts => items.iter().for_each(|item| text(tag, item, out)),
        Form::Any => within(tag, out, |out| any(value, out)),
        Form::Anys => items.iter().for_each(|item| within(tag, out, |out| any(item, out))),
        Form::Part(message) => within(tag, out, |out| content(message, value, out)),
        Form::Parts(message) => items.iter().for_each(|item| within(tag, out, |out| content(message, item, out))),
        Form::Nested(around, message) => within(tag, out, |out| nested(around, message, value, out)),
        Form::Named(own, around, message) => within(tag, out, |out| {
            for (name, value) in value.as_map().into_iter().flat_map(Map::iter) {
                entry(*own, name, out, |out| nested(around, message, value, out));
            }
        }),
        Form::Parameters => items.iter().for_each(|item| within(tag, out, |out| parameter(item, out))),
        Form::Allowance => within(tag, out, |out| match value {
            Value::Bool(allowed) => writer::number(VALUE, i64::from(*allowed), out),
            schema => within(FIRST, out, |out| content(&SCHEMA, schema, out)),
        }),
        Form::Type => within(tag, out, |out| text(FIRST, value, out)),
    }
}

fn nested(around: &[u32], message: &Message, value: &Value, out: &mut Vec<u8>) {
    match around.split_first() {
        Some((tag, rest)) => within(*tag, out, |out| nested(rest, message, value, out)),
        None => content(message, value, out),
    }
}

fn entry(tag: u32, name: &str, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    within(tag, out, |out| {
        writer::bytes(NAME, name.as_bytes(), out);
        within(VALUE, out, value);
    });
}

/// JSON is YAML.
fn any(value: &Value, out: &mut Vec<u8>) {
    const YAML: u32 = 2;
    writer::bytes(YAML, &json::to_vec(value), out);
}

/// A parameter: which message it is depends on where it is, and each is an alternative in an alternative.
fn parameter(value: &Value, out: &mut Vec<u8>) {
    const PARAMETER: u32 = 1;
    const OF_REFERENCE: u32 = 2;
    const NOT_BODY: u32 = 2;
    let (around, message): (&[u32], _) = match value.str_at(&["in"]) {
        Some("body") => (&[PARAMETER, 1], &BODY_PARAMETER),
        Some("query") => (&[PARAMETER, NOT_BODY, 3], &QUERY_PARAMETER),
        Some("path") => (&[PARAMETER, NOT_BODY, 4], &OTHER_PARAMETER),
        Some(_) => (&[PARAMETER, NOT_BODY, 1], &OTHER_PARAMETER),
        None => (&[OF_REFERENCE], &REFERENCE),
    };
    nested(around, message, value, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expect: &[u8]) {
        let written = openapi(&json::parse(document.as_bytes()).expect("JSON").0);
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
    fn operations() {
        check(
            r#"{"paths":{"/p":{"get":{"parameters":[{"in":"query","name":"q"}],"responses":{"200":{"description":"OK"}}}}}}"#,
            b"\x42\x2d\x12\x2b\x0a\x02/p\x12\x25\x12\x23\x42\x10\x0a\x0e\x12\x0c\x1a\x0a\x12\x05query\x22\x01q\x4a\x0f\x0a\x0d\x0a\x03200\x12\x06\x0a\x04\x0a\x02OK",
        );
    }
}
