//! Strategic merge patch: a merge patch that merges lists by key, with directives (`$patch`,
//! `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`).
//!
//! It needs only the patch strategies of the schema. Decoding, defaults and validation of the
//! result come later.

mod directive;
mod identity;
mod list;
mod map;
mod order;

#[cfg(test)]
mod tests;

use quorate_meta::Value;

use crate::graph::{Graph, TypeId};

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A directive is malformed.
    #[error("invalid patch format of {0}")]
    Malformed(&'static str),
    /// The patch does not fit its object or is inconsistent.
    #[error("{0}")]
    Unfit(String),
}

impl PatchError {
    fn new(why: impl Into<String>) -> Self {
        Self::Unfit(why.into())
    }
}

/// Applies `patch` to `object` of type `ty`.
///
/// # Errors
/// An unknown or misplaced directive, a list element without its merge key, an order list
/// that does not name the patched elements. `object` may be half changed then.
pub fn strategic(
    graph: &Graph,
    ty: TypeId,
    object: &mut Value,
    patch: &Value,
) -> Result<(), PatchError> {
    let Value::Map(patch) = patch else {
        return Err(PatchError::new("a strategic merge patch is an object"));
    };
    let Value::Map(object) = object else {
        return Err(PatchError::new("only objects can be patched"));
    };
    let original = std::mem::take(object);
    *object = map::merge(graph, Some(graph.ty(ty)), original, patch.clone())?;
    Ok(())
}
