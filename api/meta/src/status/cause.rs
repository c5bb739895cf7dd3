//! Causes of a Status, and the messages of field errors.

use super::quote::{push_quoted, shown};
use super::{Path, put};
use crate::{Map, Value};

/// What kind of failure a cause is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CauseReason {
    /// No reason; left out of the body.
    #[default]
    Unknown,
    /// A referenced object or value does not exist.
    FieldValueNotFound,
    /// A value must be given.
    FieldValueRequired,
    /// A value appears more than once.
    FieldValueDuplicate,
    /// A value is malformed.
    FieldValueInvalid,
    /// A value is not one of those supported.
    FieldValueNotSupported,
    /// A well-formed value is not allowed here.
    FieldValueForbidden,
    /// A value is too long.
    FieldValueTooLong,
    /// A list or map has too many entries.
    FieldValueTooMany,
    /// A value has the wrong type.
    FieldValueTypeInvalid,
    /// A field is owned by another manager.
    FieldManagerConflict,
    /// A requested revision has not been reached.
    ResourceVersionTooLarge,
    /// A namespace is being deleted.
    NamespaceTerminating,
    /// The watch or response failed.
    InternalError,
    /// Any other text.
    Other(String),
}

impl CauseReason {
    /// The text in the body; empty for `Unknown`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::FieldValueNotFound => "FieldValueNotFound",
            Self::FieldValueRequired => "FieldValueRequired",
            Self::FieldValueDuplicate => "FieldValueDuplicate",
            Self::FieldValueInvalid => "FieldValueInvalid",
            Self::FieldValueNotSupported => "FieldValueNotSupported",
            Self::FieldValueForbidden => "FieldValueForbidden",
            Self::FieldValueTooLong => "FieldValueTooLong",
            Self::FieldValueTooMany => "FieldValueTooMany",
            Self::FieldValueTypeInvalid => "FieldValueTypeInvalid",
            Self::FieldManagerConflict => "FieldManagerConflict",
            Self::ResourceVersionTooLarge => "ResourceVersionTooLarge",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::InternalError => "InternalError",
            Self::Other(text) => text,
        }
    }
}

/// One failure inside a status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// What kind of failure it is.
    pub reason: CauseReason,
    /// The message, without the field.
    pub message: String,
    /// Path of the field; omitted from the body when it is empty.
    pub field: String,
}

impl Cause {
    /// A cause from its parts.
    pub fn new(reason: CauseReason, field: impl Into<Path>, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), field: field.into().into_text() }
    }

    /// `Required value: DETAIL`, or without a detail when that is empty.
    pub fn required(field: impl Into<Path>, detail: &str) -> Self {
        Self::new(
            CauseReason::FieldValueRequired,
            field,
            with_detail("Required value".to_owned(), detail),
        )
    }

    /// `Invalid value: "VALUE": DETAIL`.
    pub fn invalid(field: impl Into<Path>, value: impl Into<Value>, detail: &str) -> Self {
        let message = with_detail(shown("Invalid value: ", &value.into()), detail);
        Self::new(CauseReason::FieldValueInvalid, field, message)
    }

    /// `Invalid value: "VALUE": DETAIL` where the value's type is wrong.
    pub fn type_invalid(field: impl Into<Path>, value: impl Into<Value>, detail: &str) -> Self {
        Self { reason: CauseReason::FieldValueTypeInvalid, ..Self::invalid(field, value, detail) }
    }

    /// `Duplicate value: "VALUE"`.
    pub fn duplicate(field: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::new(
            CauseReason::FieldValueDuplicate,
            field,
            shown("Duplicate value: ", &value.into()),
        )
    }

    /// `Not found: "VALUE"`.
    pub fn not_found(field: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::new(CauseReason::FieldValueNotFound, field, shown("Not found: ", &value.into()))
    }

    /// `Unsupported value: "VALUE": supported values: "A", "B"`, the supported ones in the order
    /// given.
    pub fn not_supported(
        field: impl Into<Path>,
        value: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let mut message = shown("Unsupported value: ", &value.into());
        for (at, text) in supported.iter().enumerate() {
            message.push_str(if at == 0 { ": supported values: " } else { ", " });
            push_quoted(&mut message, text);
        }
        Self::new(CauseReason::FieldValueNotSupported, field, message)
    }

    /// `Forbidden: DETAIL`.
    pub fn forbidden(field: impl Into<Path>, detail: &str) -> Self {
        Self::new(
            CauseReason::FieldValueForbidden,
            field,
            with_detail("Forbidden".to_owned(), detail),
        )
    }

    /// `Too long: may not be more than MAX bytes`.
    pub fn too_long(field: impl Into<Path>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {max_bytes} {unit}");
        Self::new(CauseReason::FieldValueTooLong, field, message)
    }

    /// `Too many: ACTUAL: must have at most MAX items`.
    pub fn too_many(field: impl Into<Path>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let message = format!("Too many: {actual}: must have at most {max} {unit}");
        Self::new(CauseReason::FieldValueTooMany, field, message)
    }

    /// Field and message in one text, as the message of the whole status shows it.
    pub fn text(&self) -> String {
        if self.field.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", self.field, self.message)
        }
    }

    pub(super) fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "reason", self.reason.as_str());
        put(&mut map, "message", &self.message);
        put(&mut map, "field", &self.field);
        Value::Map(map)
    }
}

fn with_detail(mut text: String, detail: &str) -> String {
    if !detail.is_empty() {
        text.reserve(": ".len() + detail.len());
        text.push_str(": ");
        text.push_str(detail);
    }
    text
}
