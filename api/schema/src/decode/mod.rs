//! Decoding: from JSON of a client to the canonical form of a type.
//!
//! In order: types are checked, and a wrong type is fatal at every level of field validation
//! (KEP-2885). Unknown fields are found and removed. The rest is converted into the one form in
//! which objects are compared and stored: zero values omitted or written as the type demands, times
//! in UTC, no `null` without a meaning.
//!
//! Invariant: the canonical form is a fixed point of `canonicalize`.
//!
//! Not here: defaults, and rules between fields.

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
pub use custom::MAX_DEFAULT_BYTES;
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
