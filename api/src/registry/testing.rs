//! A small table of resources for unit tests, independent of the schema's files.

use std::sync::Arc;

use super::{Registry, Resource, Strategy};

#[derive(Debug)]
struct Plain;
impl Strategy for Plain {}

/// Three resources of the core group.
pub(crate) fn registry() -> Registry {
    Registry::new(vec![
        resource("ConfigMap", "configmaps", true),
        resource("Secret", "secrets", true),
        resource("Namespace", "namespaces", false),
    ])
}

fn resource(kind: &str, plural: &str, namespaced: bool) -> Resource {
    Resource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        plural: plural.into(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        verbs: vec!["get".into(), "list".into()],
        subresources: Vec::new(),
        selectable_fields: Vec::new(),
        type_name: format!("core/v1.{kind}"),
        storage_version: "v1".into(),
        strategy: Arc::new(Plain),
        prefix: Resource::storage_prefix("", plural),
    }
}
