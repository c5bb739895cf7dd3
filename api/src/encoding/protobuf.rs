//! Responses in protobuf, made from trees and from stored JSON by the schema.
//!
//! Invariant: what has no protobuf form is a 406, never an empty message.

use std::fmt;
use std::sync::Arc;

use quorate_meta::{Status, Value, well_known};
use quorate_schema::{Graph, TypeId};
use quorate_wire::{json, protobuf};

/// Writes protobuf for one request. Cheap to clone.
#[derive(Clone)]
pub struct Protobuf {
    graph: Arc<Graph>,
    media_type: &'static str,
}

impl Protobuf {
    /// Writes what is called `media_type`, the profile's name or its edge alias.
    #[must_use]
    pub fn new(graph: Arc<Graph>, media_type: &'static str) -> Self {
        Self { graph, media_type }
    }

    /// The media type, as the client asked for it.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// A whole body from a tree that names its type.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub fn body(&self, value: &Value) -> Result<Vec<u8>, Box<Status>> {
        let text = |name: &str| value.str_at(&[name]).unwrap_or_default();
        let ty = self.type_of(text("apiVersion"), text("kind"))?;
        protobuf::encode(&self.graph, ty, value).map_err(unwritable)
    }

    /// A whole body from JSON that names its type.
    ///
    /// # Errors
    /// As [`Protobuf::body`].
    pub fn body_of_json(&self, text: &[u8]) -> Result<Vec<u8>, Box<Status>> {
        let (value, _) = json::parse(text).map_err(unwritable)?;
        self.body(&value)
    }

    /// The type's message from JSON, without an envelope.
    pub(crate) fn message_of_json(&self, ty: TypeId, text: &[u8]) -> Result<Vec<u8>, Box<Status>> {
        let (value, _) = json::parse(text).map_err(unwritable)?;
        protobuf::encode_message(&self.graph, ty, &value).map_err(unwritable)
    }

    /// The type of a kind or of its list, in the name that the client asked for.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub(crate) fn type_of(&self, api_version: &str, kind: &str) -> Result<TypeId, Box<Status>> {
        let found = super::type_of(&self.graph, api_version, kind);
        found.ok_or_else(|| {
            Box::new(Status::not_acceptable(&[well_known::MEDIA_JSON, well_known::MEDIA_YAML]))
        })
    }
}

impl PartialEq for Protobuf {
    fn eq(&self, other: &Self) -> bool {
        self.media_type == other.media_type && Arc::ptr_eq(&self.graph, &other.graph)
    }
}

impl Eq for Protobuf {}

impl fmt::Debug for Protobuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protobuf")
    }
}

fn unwritable(error: impl fmt::Display) -> Box<Status> {
    Box::new(Status::internal(format!("an object cannot be written as protobuf: {error}")))
}
