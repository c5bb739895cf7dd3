//! What the server knows of its resources: the table of what is served, the keyspace, and the semantics of each kind.
//!
//! Invariant: a further kind joins with an entry in the schema and one strategy file here; nothing else names a kind.

pub mod keys;

mod resource;
mod strategy;
mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use resource::{Resource, Subresource};
pub use strategy::Strategy;
pub use table::Registry;
