//! What the server knows of its resources: the table of what is served, the keyspace, and the semantics of each kind.
//!
//! Invariant: a further kind joins with an entry in the schema and one strategy file here; nothing else names a kind.

pub mod builtin;
pub mod holdings;
pub mod keys;
pub mod write;

mod admission;
mod author;
pub(crate) mod conversion;
mod disabled;
pub(crate) mod form;
mod kinds;
pub(crate) mod ownership;
mod resource;
pub(crate) mod selector;
mod strategy;
mod table;
pub(crate) mod topology;

pub(crate) use kinds::flowcontrol::mandatory;
pub(crate) use kinds::{certificates, net};

pub use admission::{Admission, Change, Terms};
pub use author::{Author, Gift, Permission, Who};
pub use conversion::{Conversion, StoredForm};
pub use disabled::Disabled;
pub use resource::{Resource, Subresource};
pub use strategy::{NameRule, Part, Step, Strategy};
pub use table::Registry;

/// Plural name of the resource that all other namespaced ones depend on.
pub(crate) const NAMESPACES: &str = "namespaces";
