//! Responses in protobuf, made from trees and from stored JSON by the schema.
//!
//! Invariant: what has no protobuf form is a 406, never an empty message.

use std::fmt;
use std::sync::Arc;

use quorate_meta::{Status, Value, well_known};
use quorate_schema::TypeId;
use quorate_wire::protobuf;

use super::messages::{Messages, unwritable};

/// Writes protobuf for one request. Cheap to clone.
#[derive(Clone)]
pub struct Protobuf {
    messages: Arc<Messages>,
    media_type: &'static str,
}

impl Protobuf {
    /// Writes what is called `media_type`, the profile's name or its edge alias.
    pub(crate) fn new(messages: Arc<Messages>, media_type: &'static str) -> Self {
        Self { messages, media_type }
    }

    /// The media type, as the client asked for it.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// The messages.
    pub(crate) fn messages(&self) -> &Messages {
        &self.messages
    }

    /// A whole body from a tree that names its type.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub fn body(&self, value: &Value) -> Result<Vec<u8>, Box<Status>> {
        let text = |name: &str| value.str_at(&[name]).unwrap_or_default();
        let ty = self.type_of(text("apiVersion"), text("kind"))?;
        protobuf::encode(self.messages.graph(), ty, value).map_err(unwritable)
    }

    /// A whole body from JSON that names its type.
    ///
    /// # Errors
    /// As [`Protobuf::body`].
    pub fn body_of_json(&self, text: &[u8]) -> Result<Vec<u8>, Box<Status>> {
        let (value, _) = quorate_wire::json::parse(text).map_err(unwritable)?;
        self.body(&value)
    }

    /// The type of a kind or of its list, in the name that the client asked for.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub(crate) fn type_of(&self, api_version: &str, kind: &str) -> Result<TypeId, Box<Status>> {
        let found = super::type_of(self.messages.graph(), api_version, kind);
        found.ok_or_else(|| {
            Box::new(Status::not_acceptable(&[well_known::MEDIA_JSON, well_known::MEDIA_YAML]))
        })
    }
}

impl PartialEq for Protobuf {
    fn eq(&self, other: &Self) -> bool {
        self.media_type == other.media_type && Arc::ptr_eq(&self.messages, &other.messages)
    }
}

impl Eq for Protobuf {}

impl fmt::Debug for Protobuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protobuf")
    }
}
