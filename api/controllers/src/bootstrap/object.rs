//! A bootstrap object: what it has when the cluster makes it, and what the cluster restores.

use quorate_meta::{Map, Value};

/// An object that every cluster has.
#[derive(Debug, Clone)]
pub(super) struct BootstrapObject {
    /// Neutral group; empty for the core group.
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) name: String,
    /// Labels, annotations, finalizers that a new object has.
    pub(super) metadata: Map,
    /// Top-level fields that it must have.
    pub(super) fields: Map,
    /// The annotation that says `true` while the cluster may put the object right; `None` when it
    /// always may.
    pub(super) autoupdate_annotation: Option<String>,
    /// Whether an object that is there is fine as it is.
    pub(super) creates_only: bool,
}

/// One field of an object and its value.
pub(super) fn spec(field: &str, value: Map) -> Map {
    let mut map = Map::new();
    map.insert(field, value);
    map
}

/// A list of texts.
pub(super) fn list(texts: &[impl AsRef<str>]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(text.as_ref())).collect())
}
