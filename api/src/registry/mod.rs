//! What the server knows of its resources: the table of what is served, the keyspace, and the semantics of each kind.
//!
//! Invariant: a further kind joins with an entry in the schema and one strategy file here; nothing else names a kind.

pub mod builtin;
pub mod keys;
pub mod write;

pub(crate) mod form;
mod kinds;
mod resource;
mod strategy;
mod table;

pub use resource::{Resource, Subresource};
pub use strategy::{NameRule, Part, Step, Strategy};
pub use table::Registry;

/// Plural name of the resource that all other namespaced ones depend on.
pub(crate) const NAMESPACES: &str = "namespaces";
