//! The plain lists: APIVersions, APIGroupList, APIGroup, APIResourceList.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Map, Value};
use sha2::{Digest, Sha256};

use super::DiscoveryPage;
use crate::Api;
use quorate_registry::{Catalogue, Resource, Subresource};

/// Bytes of the digest that clients see of the stored version.
const STORAGE_HASH_BYTES: usize = 8;

/// The plain form of a page.
pub(super) fn document(api: &Api, catalogue: &Catalogue, page: &DiscoveryPage) -> Value {
    match page {
        DiscoveryPage::Core => core(api, catalogue),
        DiscoveryPage::Groups => groups(catalogue),
        DiscoveryPage::Group { asked, group } => {
            let mut body =
                Map::from([("kind", Value::from("APIGroup")), ("apiVersion", Value::from("v1"))]);
            for (key, value) in group_fields(catalogue, asked, group).iter() {
                body.insert(key, value.clone());
            }
            Value::Map(body)
        }
        DiscoveryPage::Version { asked, group, version } => {
            resources(catalogue, asked, group, version)
        }
    }
}

fn core(api: &Api, catalogue: &Catalogue) -> Value {
    let address = Map::from([
        ("clientCIDR", Value::from("0.0.0.0/0")),
        ("serverAddress", Value::from(api.address.as_str())),
    ]);
    let versions: Vec<Value> = versions(catalogue, "").into_iter().map(Value::from).collect();
    Value::Map(Map::from([
        ("kind", Value::from("APIVersions")),
        ("versions", Value::List(versions)),
        ("serverAddressByClientCIDRs", Value::List(vec![Value::Map(address)])),
    ]))
}

fn groups(catalogue: &Catalogue) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for (group, _) in catalogue.group_versions() {
        if !group.is_empty() && !names.contains(&group) {
            names.push(group);
        }
    }
    let groups =
        names.into_iter().map(|name| Value::Map(group_fields(catalogue, name, name))).collect();
    Value::Map(Map::from([
        ("kind", Value::from("APIGroupList")),
        ("apiVersion", Value::from("v1")),
        ("groups", Value::List(groups)),
    ]))
}

fn group_fields(catalogue: &Catalogue, asked: &str, group: &str) -> Map {
    let entry = |version: &str| {
        Value::Map(Map::from([
            ("groupVersion", Value::from(format!("{asked}/{version}"))),
            ("version", Value::from(version)),
        ]))
    };
    let versions = versions(catalogue, group);
    let preferred = versions.first().map_or(Value::Null, |version| entry(version));
    Map::from([
        ("name", Value::from(asked)),
        ("versions", Value::List(versions.iter().map(|version| entry(version)).collect())),
        ("preferredVersion", preferred),
    ])
}

fn versions<'a>(catalogue: &'a Catalogue, group: &str) -> Vec<&'a str> {
    catalogue
        .group_versions()
        .into_iter()
        .filter(|(g, _)| *g == group)
        .map(|(_, version)| version)
        .collect()
}

fn resources(catalogue: &Catalogue, asked: &str, group: &str, version: &str) -> Value {
    let mut resources: Vec<&Resource> =
        catalogue.version(group, version).map(AsRef::as_ref).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    let mut entries = Vec::new();
    for resource in resources {
        entries.push(resource_entry(resource));
        let mut subresources: Vec<&Subresource> = resource.subresources.iter().collect();
        subresources.sort_by(|a, b| a.name.cmp(&b.name));
        entries.extend(
            subresources.into_iter().map(|subresource| subresource_entry(resource, subresource)),
        );
    }
    let group_version =
        if asked.is_empty() { version.to_owned() } else { format!("{asked}/{version}") };
    Value::Map(Map::from([
        ("kind", Value::from("APIResourceList")),
        ("apiVersion", Value::from("v1")),
        ("groupVersion", Value::from(group_version)),
        ("resources", Value::List(entries)),
    ]))
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = Map::from([
        ("name", Value::from(resource.plural.as_str())),
        ("singularName", Value::from(resource.singular.as_str())),
        ("namespaced", Value::from(resource.namespaced)),
        ("kind", Value::from(resource.kind.as_str())),
        ("verbs", sorted(&resource.verbs)),
    ]);
    if !resource.short_names.is_empty() {
        entry.insert("shortNames", texts(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        entry.insert("categories", texts(&resource.categories));
    }
    if resource.serves("list") {
        let digest = Sha256::digest(format!(
            "{}/{}/{}",
            resource.storage_group, resource.storage_version, resource.kind
        ));
        entry.insert("storageVersionHash", STANDARD.encode(&digest[..STORAGE_HASH_BYTES]));
    }
    Value::Map(entry)
}

fn subresource_entry(resource: &Resource, subresource: &Subresource) -> Value {
    let mut entry = Map::from([
        ("name", Value::from(format!("{}/{}", resource.plural, subresource.name))),
        ("singularName", Value::from("")),
        ("namespaced", Value::from(resource.namespaced)),
        ("kind", Value::from(subresource.kind.as_str())),
        ("verbs", sorted(&subresource.verbs)),
    ]);
    if (&subresource.group, &subresource.version) != (&resource.group, &resource.version) {
        entry.insert("group", subresource.group.as_str());
        entry.insert("version", subresource.version.as_str());
    }
    Value::Map(entry)
}

pub(super) fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect())
}

/// Verbs come in the order of the alphabet.
pub(super) fn sorted(verbs: &[String]) -> Value {
    let mut verbs = verbs.to_vec();
    verbs.sort_unstable();
    texts(&verbs)
}
