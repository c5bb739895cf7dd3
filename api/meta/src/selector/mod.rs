//! Label and field selectors of list, watch and deletecollection requests.
//!
//! Parsing has the error messages of Kubernetes. Matching allocates nothing and works on borrowed
//! text, so that millions of stored objects can be filtered without being parsed. Selectors print
//! in a canonical form that parses to the same.

mod field;
mod label;
mod label_parse;
mod object;
#[cfg(test)]
mod tests;

pub use field::{FieldSelector, FieldTerm};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Requirements of a selector, at most: each is matched against every object of a collection.
const MAX_REQUIREMENTS: usize = 1000;

/// Why a selector cannot be parsed, or names a field that is not selectable; the message of a
/// Status with code 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// The message for a selector with more than [`MAX_REQUIREMENTS`].
fn too_many() -> String {
    format!("invalid selector: it has more than {MAX_REQUIREMENTS} requirements")
}
