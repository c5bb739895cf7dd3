//! The messages of OpenAPI version 2 (`openapi.v2`).

use quorate_meta::Value;

use super::{FIRST, Form, Message, nested};

/// The number of all paths and of each.
pub(super) const PATHS: u32 = 8;
pub(super) const PATH_ENTRY: u32 = 2;
/// The number of all definitions and of each.
pub(super) const DEFINITIONS: u32 = 9;
pub(super) const DEFINITION_ENTRY: u32 = 1;

/// The document.
pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Form::Text),
        ("info", 2, Form::Part(&INFO)),
        ("paths", PATHS, Form::Named(PATH_ENTRY, &[], &PATH)),
        ("definitions", DEFINITIONS, Form::Named(DEFINITION_ENTRY, &[], &SCHEMA)),
        ("security", 12, Form::Each(&Form::Named(1, &[], &SCOPES))),
        ("securityDefinitions", 13, Form::Named(1, &[2], &API_KEY)),
    ],
    extensions: Some(16),
    reference: None,
};

static INFO: Message = Message {
    fields: &[("title", 1, Form::Text), ("version", 2, Form::Text)],
    extensions: Some(7),
    reference: None,
};

/// A security requirement: the message is the list.
static SCOPES: Message =
    Message { fields: &[("", FIRST, Form::Texts)], extensions: None, reference: None };

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("description", 4, Form::Text),
    ],
    extensions: Some(5),
    reference: None,
};

pub(super) static PATH: Message = Message {
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
    reference: None,
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
    reference: None,
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Form::Text), ("schema", 2, Form::Nested(&[1], &SCHEMA))],
    extensions: Some(5),
    reference: None,
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
    reference: None,
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
    reference: None,
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
    reference: None,
};

static REFERENCE: Message = Message {
    fields: &[("$ref", 1, Form::Text), ("description", 2, Form::Text)],
    extensions: None,
    reference: None,
};

pub(super) static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Form::Text),
        ("format", 2, Form::Text),
        ("title", 3, Form::Text),
        ("description", 4, Form::Text),
        ("default", 5, Form::Any),
        ("multipleOf", 6, Form::Double),
        ("maximum", 7, Form::Double),
        ("exclusiveMaximum", 8, Form::Flag),
        ("minimum", 9, Form::Double),
        ("exclusiveMinimum", 10, Form::Flag),
        ("maxLength", 11, Form::Count),
        ("minLength", 12, Form::Count),
        ("pattern", 13, Form::Text),
        ("maxItems", 14, Form::Count),
        ("minItems", 15, Form::Count),
        ("uniqueItems", 16, Form::Flag),
        ("maxProperties", 17, Form::Count),
        ("minProperties", 18, Form::Count),
        ("required", 19, Form::Texts),
        ("enum", 20, Form::Anys),
        ("additionalProperties", 21, Form::Allowance(&SCHEMA)),
        ("type", 22, Form::Type),
        ("items", 23, Form::Part(&ITEMS)),
        ("allOf", 24, Form::Parts(&SCHEMA)),
        ("properties", 25, Form::Named(1, &[], &SCHEMA)),
    ],
    extensions: Some(31),
    reference: None,
};

/// A message around the only schema of a list's elements.
static ITEMS: Message =
    Message { fields: &[("", FIRST, Form::Part(&SCHEMA))], extensions: None, reference: None };

/// A parameter: its message depends on its location, and each is an alternative in an alternative.
pub(super) fn parameter(value: &Value, out: &mut Vec<u8>) {
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
