//! Label and field selectors of list, watch and deletecollection requests (001, query parameters).
//!
//! Parsing gives the recorded error texts; matching allocates nothing and works on borrowed text, so that millions of
//! stored objects can be filtered without being parsed. Selectors print in a canonical form that parses to the same.

mod field;
mod label;
mod label_parse;
mod object;
#[cfg(test)]
mod tests;

pub use field::{FieldSelector, FieldTerm};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Requirements that the text of a selector may have: each of them may be held against every object of a collection.
const MAX_REQUIREMENTS: usize = 1000;

/// A selector that cannot be read or names a field that cannot be selected; the text is the message for a 400 answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// The message for a selector with more than [`MAX_REQUIREMENTS`].
fn too_many() -> String {
    format!("invalid selector: it has more than {MAX_REQUIREMENTS} requirements")
}
