//! The aggregated form: every group, version and resource in one document, with an ETag.

use quorate_meta::{Map, Names, Value, well_known};

use super::plain::texts;
use crate::negotiation;
use crate::registry::{Registry, Resource, Subresource};

const KIND: &str = "APIGroupDiscoveryList";

/// The aggregated form as the client asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    group: String,
    version: String,
}

impl Form {
    /// The form that an Accept header asks for before any other; `None` when it prefers the plain one or has neither.
    pub(super) fn asked(names: &Names, accept: &str) -> Option<Self> {
        for clause in negotiation::clauses(accept) {
            let json = matches!(clause.media.as_ref(), "*/*" | "application/*" | well_known::MEDIA_JSON);
            let plain = clause.parameter("as").is_empty();
            if plain && (json || clause.media == well_known::MEDIA_YAML) {
                return None;
            }
            let (group, version) = (clause.parameter("g"), clause.parameter("v"));
            let known = group == names.group_discovery
                || names.edge_group(group).is_some_and(|group| group == names.group_discovery);
            if json && known && clause.parameter("as") == KIND && matches!(version, "v2" | "v2beta1") {
                return Some(Self { group: group.to_owned(), version: version.to_owned() });
            }
        }
        None
    }

    pub(super) fn content_type(&self) -> String {
        format!("application/json;g={};v={};as={KIND}", self.group, self.version)
    }
}

/// The document: of the core group, or of all others.
pub(super) fn document(registry: &Registry, core: bool, form: &Form) -> Value {
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for (group, version) in registry.group_versions() {
        if group.is_empty() != core {
            continue;
        }
        let entry = version_entry(registry, group, version);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, versions)) => versions.push(entry),
            None => groups.push((group, vec![entry])),
        }
    }
    let items = groups.into_iter().map(|(name, versions)| {
        let mut metadata = Map::new();
        if !name.is_empty() {
            metadata.insert("name", name);
        }
        Value::Map(Map::from([("metadata", Value::Map(metadata)), ("versions", Value::List(versions))]))
    });
    Value::Map(Map::from([
        ("kind", Value::from(KIND)),
        ("apiVersion", Value::from(format!("{}/{}", form.group, form.version))),
        ("metadata", Value::Map(Map::new())),
        ("items", Value::List(items.collect())),
    ]))
}

fn version_entry(registry: &Registry, group: &str, version: &str) -> Value {
    let mut resources: Vec<&Resource> = registry.version(group, version).map(AsRef::as_ref).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    Value::Map(Map::from([
        ("version", Value::from(version)),
        ("resources", Value::List(resources.into_iter().map(resource_entry).collect())),
        ("freshness", Value::from("Current")),
    ]))
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = Map::from([
        ("resource", Value::from(resource.plural.as_str())),
        ("responseKind", response_kind(&resource.group, &resource.version, &resource.kind)),
        ("scope", Value::from(if resource.namespaced { "Namespaced" } else { "Cluster" })),
        ("singularResource", Value::from(resource.singular.as_str())),
        ("verbs", texts(&resource.verbs)),
    ]);
    if !resource.short_names.is_empty() {
        entry.insert("shortNames", texts(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        entry.insert("categories", texts(&resource.categories));
    }
    if !resource.subresources.is_empty() {
        let mut subresources: Vec<&Subresource> = resource.subresources.iter().collect();
        subresources.sort_by(|a, b| a.name.cmp(&b.name));
        entry.insert("subresources", Value::List(subresources.into_iter().map(subresource_entry).collect()));
    }
    Value::Map(entry)
}

fn subresource_entry(subresource: &Subresource) -> Value {
    Value::Map(Map::from([
        ("subresource", Value::from(subresource.name.as_str())),
        ("responseKind", response_kind(&subresource.group, &subresource.version, &subresource.kind)),
        ("verbs", texts(&subresource.verbs)),
    ]))
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    Value::Map(Map::from([
        ("group", Value::from(group)),
        ("version", Value::from(version)),
        ("kind", Value::from(kind)),
    ]))
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;

    use super::*;

    #[test]
    fn which_form_is_asked_for() {
        let check = |accept: &str, expect: Option<&str>| {
            let got = Form::asked(Naming::Svc.names(), accept).map(|form| form.content_type());
            assert_eq!(got.as_deref(), expect, "{accept}");
        };
        let ask = |group: &str, version: &str| format!("application/json;as={KIND};v={version};g={group}");
        let (svc, alias) = ("apidiscovery.svc.io", "apidiscovery.k8s.io");
        check(&ask(svc, "v2"), Some("application/json;g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList"));
        check(
            &ask(alias, "v2beta1"),
            Some("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
        );
        check(&format!("{},application/json", ask(svc, "v3")), None);
        check(&ask(svc, "v3"), None);
        check(&format!("application/json,{}", ask(svc, "v2")), None);
        check("", None);
    }
}
