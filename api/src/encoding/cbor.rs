//! Responses in CBOR (RFC 8949; KEP-4222), transcoded from JSON.
//!
//! Invariant: where a type is known its binary fields are written as bytes; where none is, as the
//! base64 text of JSON, which readers take as well.

use std::fmt;
use std::sync::Arc;

use quorate_meta::{Status, Value};
use quorate_schema::{Graph, TypeId};
use quorate_wire::cbor::{self, Schema};
use quorate_wire::json;

/// Writes CBOR for one request. Cheap to clone.
#[derive(Clone)]
pub struct Cbor {
    graph: Arc<Graph>,
}

impl Cbor {
    /// Writes with the help of a schema.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        Self { graph }
    }

    /// A whole body from a tree, with the type that it names.
    ///
    /// # Errors
    /// 500 for a tree that is nested too deeply.
    pub fn body(&self, value: &Value) -> Result<Vec<u8>, Box<Status>> {
        let text = |name: &str| value.str_at(&[name]).unwrap_or_default();
        let ty = super::type_of(&self.graph, text("apiVersion"), text("kind"));
        self.body_of_json(ty, &json::to_vec(value))
    }

    /// A whole body from JSON.
    ///
    /// # Errors
    /// 500 for text that is not JSON.
    pub fn body_of_json(&self, ty: Option<TypeId>, text: &[u8]) -> Result<Vec<u8>, Box<Status>> {
        let mut out = Vec::with_capacity(text.len());
        cbor::encode(self.schema(ty), text, &mut out).map_err(unwritable)?;
        Ok(out)
    }

    /// Appends one data item of a body, from JSON.
    pub(crate) fn item_of_json(
        &self,
        ty: Option<TypeId>,
        text: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        cbor::encode_item(self.schema(ty), text, out).map_err(unwritable)
    }

    fn schema(&self, ty: Option<TypeId>) -> Option<Schema<'_>> {
        ty.map(|ty| Schema { graph: &self.graph, ty })
    }
}

impl PartialEq for Cbor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }
}

impl Eq for Cbor {}

impl fmt::Debug for Cbor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cbor")
    }
}

fn unwritable(error: impl fmt::Display) -> Box<Status> {
    Box::new(Status::internal(format!("an object cannot be written as CBOR: {error}")))
}
