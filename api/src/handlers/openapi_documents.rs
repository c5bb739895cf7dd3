//! Which OpenAPI documents there are, and what makes each.
//!
//! The schema crate makes the documents of group versions; pages about the server itself have documents without schemas.

use quorate_meta::{Map, Value};

use crate::Api;

/// The paths of all documents of version 3.
pub(super) fn parts(api: &Api) -> Vec<String> {
    let mut parts: Vec<String> = vec!["api".into(), "apis".into(), "version".into()];
    for (group, version) in api.registry.group_versions() {
        if group.is_empty() {
            parts.push(format!("api/{version}"));
            continue;
        }
        let root = format!("apis/{group}");
        if !parts.contains(&root) {
            parts.push(root.clone());
        }
        parts.push(format!("{root}/{version}"));
    }
    parts
}

/// One document of version 3.
pub(super) fn part(api: &Api, path: &str) -> Option<Value> {
    parts(api).iter().any(|part| part == path).then(|| bare("openapi", "3.0.0"))
}

/// The document of version 2.
pub(super) fn whole(_api: &Api) -> Value {
    bare("swagger", "2.0")
}

/// A document that describes no types.
fn bare(marker: &str, version: &str) -> Value {
    Value::Map(Map::from([
        (marker, Value::from(version)),
        ("info", Value::Map(Map::from([("title", Value::from("Quorate")), ("version", Value::from("v1.35.0"))]))),
        ("paths", Value::Map(Map::new())),
    ]))
}
