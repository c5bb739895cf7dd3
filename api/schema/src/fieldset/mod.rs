//! Sets of fields: what a writer owns, and what differs between two objects (001, field ownership).
//!
//! A set is a tree of path elements; an element is a member itself, has members below it, or both. Lists of kind `set` and
//! `map` and granular maps are entered, everything atomic is one member. Invariant: no branch without a member.
//! Who owns which set is the business of `managed`.

mod codec;
mod compare;
mod element;
mod form;
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
pub use members::members;
pub use reach::Reach;
pub use set::FieldSet;
pub(crate) use set::Node;
pub(crate) use trail::{Lookup, Trail, shortened};
