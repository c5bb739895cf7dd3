//! What somebody wants of an object: a part of it, checked against its type, with the set of its fields.

use quorate_meta::Value;

use super::check;
use crate::decode::check_types;
use crate::fieldset::{FieldSet, members};
use crate::graph::{Graph, TypeId};

/// A body that is no part of such an object; the text says where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

/// A checked body. Made once, applied as often as the object changes meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    value: Value,
    fields: FieldSet,
}

impl Config {
    /// Checks a body: every field exists and has its type, sets and keyed lists have no duplicates.
    ///
    /// # Errors
    /// The first field, in key order, that does not fit.
    pub fn new(graph: &Graph, ty: TypeId, value: Value) -> Result<Self, Unfit> {
        check::check(graph, ty, &value).map_err(|fault| Unfit(fault.to_string()))?;
        check_types(graph, ty, &value).map_err(|error| Unfit(error.to_string()))?;
        let fields = members(graph, ty, &value);
        Ok(Self { value, fields })
    }

    /// The body.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The fields that it sets.
    pub fn fields(&self) -> &FieldSet {
        &self.fields
    }
}
