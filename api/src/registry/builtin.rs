//! The resources that every cluster has, made from the schema's kinds.
//!
//! Invariant: `SERVED` is the one list of built-in kinds that exist for clients. A further kind joins with its IDL entry,
//! a line here, and a strategy where the schema does not say everything.

use std::borrow::Cow;

use quorate_schema::{Graph, KindDef};

use super::{Registry, Resource, Subresource, kinds};

/// Neutral group, version and kind of what is served, in the order of discovery.
const SERVED: [(&str, &str, &str); 5] = [
    ("core", "v1", "ConfigMap"),
    ("core", "v1", "Event"),
    ("core", "v1", "Namespace"),
    ("core", "v1", "Secret"),
    ("core", "v1", "ServiceAccount"),
];

/// Subresources that are served today.
const SERVED_SUBRESOURCES: [&str; 2] = ["finalize", "status"];

/// The table of the built-in resources.
#[must_use]
pub fn registry(graph: &Graph) -> Registry {
    let kinds = SERVED.iter().filter_map(|(group, version, kind)| {
        graph.kinds().iter().find(|def| def.neutral_group == *group && def.version == *version && def.kind == *kind)
    });
    Registry::new(kinds.map(resource).collect())
}

fn resource(kind: &KindDef) -> Resource {
    let neutral_group = if kind.group.is_empty() { "" } else { kind.neutral_group };
    let served = kind.subresources.iter().filter(|sub| SERVED_SUBRESOURCES.contains(&sub.name.as_ref()));
    Resource {
        group: kind.group.clone(),
        version: kind.version.to_string(),
        api_version: kind.api_version(),
        kind: kind.kind.to_string(),
        list_kind: kind.list_kind.as_ref().map_or_else(|| format!("{}List", kind.kind), ToString::to_string),
        plural: kind.resource.to_string(),
        singular: kind.singular.to_string(),
        short_names: strings(&kind.short_names),
        categories: strings(&kind.categories),
        namespaced: kind.namespaced,
        verbs: strings(&kind.verbs),
        subresources: served.map(subresource).collect(),
        selectable_fields: strings(&kind.selectable_fields),
        ty: kind.ty,
        columns: kind.columns.clone(),
        delete_returns_object: kind.delete_returns_object,
        storage_version: kind.storage_version.as_ref().map_or_else(String::new, ToString::to_string),
        strategy: kinds::strategy(neutral_group, &kind.kind),
        prefix: Resource::storage_prefix(&kind.group, &kind.resource),
    }
}

fn subresource(sub: &quorate_schema::Subresource) -> Subresource {
    Subresource {
        name: sub.name.to_string(),
        group: sub.kind.group.clone(),
        version: sub.kind.version.clone(),
        kind: sub.kind.kind.clone(),
        verbs: strings(&sub.verbs),
    }
}

fn strings(texts: &[Cow<'static, str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    #[test]
    fn every_listed_kind_exists_in_both_profiles() {
        for naming in [Naming::Svc, Naming::Kubernetes] {
            assert_eq!(registry(&Graph::builtin(naming.names())).iter().count(), SERVED.len());
        }
    }

    #[test]
    fn a_resource_is_what_its_kind_says() {
        let registry = registry(&Graph::builtin(Naming::Svc.names()));
        let namespaces = registry.find("", "v1", "namespaces").unwrap();
        assert!(!namespaces.namespaced && namespaces.delete_returns_object && !namespaces.serves("deletecollection"));
        assert_eq!(
            namespaces.subresources.iter().map(|sub| sub.name.as_str()).collect::<Vec<_>>(),
            ["finalize", "status"]
        );
        let accounts = registry.find("", "v1", "serviceaccounts").unwrap();
        assert!(accounts.subresource("token").is_none(), "not served yet");
    }
}
