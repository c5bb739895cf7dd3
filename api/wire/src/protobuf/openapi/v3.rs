//! The messages of OpenAPI version 3 (`openapi.v3`).

use super::{FIRST, Form, Message};

/// The document.
pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("openapi", 1, Form::Text),
        ("info", 2, Form::Part(&INFO)),
        ("paths", 4, Form::Named(1, &[], &PATH)),
        ("components", 5, Form::Part(&COMPONENTS)),
    ],
    extensions: Some(9),
    reference: None,
};

static INFO: Message = Message {
    fields: &[("title", 1, Form::Text), ("version", 6, Form::Text)],
    extensions: Some(7),
    reference: None,
};

static COMPONENTS: Message = Message {
    fields: &[
        ("schemas", 1, Form::Named(1, &[], &SCHEMA)),
        ("securitySchemes", 7, Form::Named(1, &[FIRST], &SECURITY_SCHEME)),
    ],
    extensions: Some(10),
    reference: None,
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        ("type", 1, Form::Text),
        ("description", 2, Form::Text),
        ("name", 3, Form::Text),
        ("in", 4, Form::Text),
    ],
    extensions: Some(9),
    reference: None,
};

static PATH: Message = Message {
    fields: &[
        ("get", 4, Form::Part(&OPERATION)),
        ("put", 5, Form::Part(&OPERATION)),
        ("post", 6, Form::Part(&OPERATION)),
        ("delete", 7, Form::Part(&OPERATION)),
        ("options", 8, Form::Part(&OPERATION)),
        ("head", 9, Form::Part(&OPERATION)),
        ("patch", 10, Form::Part(&OPERATION)),
        ("parameters", 13, Form::Parts(&PARAMETER)),
    ],
    extensions: Some(14),
    reference: None,
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Form::Texts),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("parameters", 6, Form::Parts(&PARAMETER)),
        ("requestBody", 7, Form::Part(&REQUEST_BODY)),
        ("responses", 8, Form::Named(2, &[], &RESPONSE)),
        ("deprecated", 10, Form::Flag),
    ],
    extensions: Some(13),
    reference: None,
};

static PARAMETER: Message = Message {
    fields: &[
        ("name", 1, Form::Text),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 10, Form::Part(&SCHEMA)),
    ],
    extensions: Some(14),
    reference: Some(&REFERENCE),
};

static REQUEST_BODY: Message = Message {
    fields: &[
        ("description", 1, Form::Text),
        ("content", 2, Form::Named(1, &[], &MEDIA_TYPE)),
        ("required", 3, Form::Flag),
    ],
    extensions: Some(4),
    reference: Some(&REFERENCE),
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Form::Text), ("content", 3, Form::Named(1, &[], &MEDIA_TYPE))],
    extensions: Some(5),
    reference: Some(&REFERENCE),
};

static MEDIA_TYPE: Message =
    Message { fields: &[("schema", 1, Form::Part(&SCHEMA))], extensions: Some(5), reference: None };

static REFERENCE: Message =
    Message { fields: &[("$ref", 1, Form::Text)], extensions: None, reference: None };

static SCHEMA: Message =
    Message { fields: SCHEMA_FIELDS, extensions: Some(36), reference: Some(&REFERENCE) };

/// A schema where no reference can stand.
static ONLY_SCHEMA: Message =
    Message { fields: SCHEMA_FIELDS, extensions: Some(36), reference: None };

static SCHEMA_FIELDS: &[(&str, u32, Form)] = &[
    ("nullable", 1, Form::Flag),
    ("title", 9, Form::Text),
    ("multipleOf", 10, Form::Double),
    ("maximum", 11, Form::Double),
    ("exclusiveMaximum", 12, Form::Flag),
    ("minimum", 13, Form::Double),
    ("exclusiveMinimum", 14, Form::Flag),
    ("maxLength", 15, Form::Count),
    ("minLength", 16, Form::Count),
    ("pattern", 17, Form::Text),
    ("maxItems", 18, Form::Count),
    ("minItems", 19, Form::Count),
    ("uniqueItems", 20, Form::Flag),
    ("maxProperties", 21, Form::Count),
    ("minProperties", 22, Form::Count),
    ("required", 23, Form::Texts),
    ("enum", 24, Form::Anys),
    ("type", 25, Form::Text),
    ("allOf", 26, Form::Parts(&SCHEMA)),
    ("oneOf", 27, Form::Parts(&SCHEMA)),
    ("anyOf", 28, Form::Parts(&SCHEMA)),
    ("not", 29, Form::Part(&ONLY_SCHEMA)),
    ("items", 30, Form::Part(&ITEMS)),
    ("properties", 31, Form::Named(1, &[], &SCHEMA)),
    ("additionalProperties", 32, Form::Allowance(&SCHEMA)),
    ("default", 33, Form::Plain),
    ("description", 34, Form::Text),
    ("format", 35, Form::Text),
];

/// A message around the only schema of a list's elements.
static ITEMS: Message =
    Message { fields: &[("", FIRST, Form::Part(&SCHEMA))], extensions: None, reference: None };
