//! An applied configuration: a partial object, checked against its type, with the set of its
//! fields.

use quorate_meta::Value;

use super::check;
use crate::decode::check_types;
use crate::fieldset::{FieldSet, members};
use crate::graph::{Graph, TypeId};

/// Why a body is no partial object of its type, with the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

/// A checked body, for repeated attempts of one apply on newer states of the object.
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

    /// The set of its fields.
    pub fn fields(&self) -> &FieldSet {
        &self.fields
    }
}
