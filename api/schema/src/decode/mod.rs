//! From outside JSON to the canonical working form of a type.
//!
//! Order of business (001, field validation): types are checked first and a wrong one is fatal at every level; then
//! unknown fields are found and taken out; then the rest is brought into the one form in which objects are compared and
//! stored: zero values left out or written as the type says, times in UTC, no `null` where nothing is meant.
//! Invariant: canonical form is a fixed point of `canonicalize`. Defaults and rules between fields are not its business.

mod canonical;
mod check;
mod custom;
mod scalar;
mod unknown;

#[cfg(test)]
mod tests;

use quorate_meta::Value;

use crate::graph::{Graph, TypeId};

pub(crate) use canonical::zero_of;
pub use canonical::{canonicalize, is_zero, zero};
pub use check::{DecodeError, check_types};
pub(crate) use custom::{Defaults, check_part, settle};
pub(crate) use unknown::unknown_in;
pub use unknown::{Unknown, unknown_fields};

/// Brings `value` into the canonical form of type `ty` and returns the unknown fields it dropped.
///
/// # Errors
/// A value has a type that the field cannot take; `value` is unchanged then.
pub fn decode(graph: &Graph, ty: TypeId, value: &mut Value) -> Result<Unknown, DecodeError> {
    check_types(graph, ty, value)?;
    let unknown = unknown_fields(graph, ty, value, true);
    canonicalize(graph, ty, value);
    Ok(unknown)
}
