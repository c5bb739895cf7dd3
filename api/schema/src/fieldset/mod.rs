//! Field sets: the fields of a manager, or the differences between two objects
//! (`structured-merge-diff`).
//!
//! A set is a tree of path elements; an element is a member itself, has members below it, or both.
//! Lists of type `set` and `map` and granular maps have their elements as members, an atomic value
//! is one member. Invariant: no branch without a member.
//!
//! Which manager owns which set is part of `managed`.

mod codec;
mod compare;
mod element;
mod form;
mod leaves;
mod members;
mod nodes;
mod reach;
mod set;
mod trail;

#[cfg(test)]
mod tests;

pub use codec::BadFields;
pub use compare::{Comparison, compare};
pub use element::Element;
pub(crate) use form::{Form, implied, keyed_element};
pub use leaves::{Leaf, differing_paths, leaves};
pub use members::members;
pub use reach::{Fields, Reach};
pub use set::FieldSet;
pub(crate) use set::Node;
pub(crate) use trail::{Lookup, Trail, shortened};
