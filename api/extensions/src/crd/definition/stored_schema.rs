//! The schema of a version in JSON, as it is stored.
//!
//! Invariants: it has no memory of its own where it was found in a stored object; two are equal
//! where their texts are, whatever objects they stand in.

use std::fmt;

use bytes::Bytes;
use quorate_env::blocking;
use quorate_meta::Value;
use quorate_wire::json;

/// Bytes of a schema that is read in a millisecond or two; other tasks go on while a larger one is.
const SHORT_BYTES: usize = 64 << 10;

/// An `openAPIV3Schema` in JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSchema(Bytes);

impl StoredSchema {
    /// A schema of its own.
    #[must_use]
    pub fn new(schema: &Value) -> Self {
        Self(json::to_vec(schema).into())
    }

    /// The schema that stands in an object as this part of its JSON.
    pub(super) fn within(object: &Bytes, schema: &str) -> Self {
        Self(object.slice_ref(schema.as_bytes()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        &self.0
    }

    /// Does work that takes as long as the schema is.
    pub(in crate::crd) fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.0.len() > SHORT_BYTES { blocking(work) } else { work() }
    }

    /// Reads it. What is stored reads back; anything else is null, which no schema is.
    #[must_use]
    pub fn parse(&self) -> Value {
        match json::parse(&self.0) {
            Ok((schema, _)) => schema,
            Err(error) => {
                tracing::error!(%error, "a stored schema does not read back");
                Value::Null
            }
        }
    }
}

impl fmt::Debug for StoredSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredSchema({} bytes)", self.0.len())
    }
}
