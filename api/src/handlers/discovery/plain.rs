//! The plain lists: APIVersions, APIGroupList, APIGroup, APIResourceList.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use quorate_meta::{Map, Value};
use sha2::{Digest, Sha256};

use super::DiscoveryPage;
use crate::Api;
use crate::discovery::{Group, Groups};
use crate::respond;
use quorate_registry::{Resource, Subresource};

/// Bytes of the digest that clients see of the stored version.
const STORAGE_HASH_BYTES: usize = 8;

/// The plain form of a page, in JSON.
pub(super) fn document(api: &Api, groups: &Groups, page: &DiscoveryPage) -> Bytes {
    let group = |name: &str| groups.find(name).map(AsRef::as_ref);
    let document = match page {
        DiscoveryPage::Core => core(api, group("")),
        DiscoveryPage::Groups => {
            return groups.list.get_or_init(|| respond::json(&list(groups))).clone();
        }
        DiscoveryPage::Group { asked, group: name } => {
            let mut body =
                Map::from([("kind", Value::from("APIGroup")), ("apiVersion", Value::from("v1"))]);
            body.merge(group(name).map(|group| group_fields(group, asked)).unwrap_or_default());
            Value::Map(body)
        }
        DiscoveryPage::Version { asked, group: name, version } => {
            let versions = group(name).map_or(&[][..], |group| &group.versions);
            let served = versions.iter().find(|served| served.name == *version);
            resources(served.map_or(&[][..], |served| &served.resources), asked, version)
        }
    };
    respond::json(&document)
}

fn core(api: &Api, group: Option<&Group>) -> Value {
    let address = Map::from([
        ("clientCIDR", Value::from("0.0.0.0/0")),
        ("serverAddress", Value::from(api.address.as_str())),
    ]);
    let versions = group.map_or(&[][..], |group| &group.versions);
    let versions = versions.iter().map(|version| Value::from(version.name.as_str())).collect();
    Value::Map(Map::from([
        ("kind", Value::from("APIVersions")),
        ("versions", Value::List(versions)),
        ("serverAddressByClientCIDRs", Value::List(vec![Value::Map(address)])),
    ]))
}

fn list(groups: &Groups) -> Value {
    let groups = groups.of_list();
    let groups =
        groups.into_iter().map(|group| Value::Map(group_fields(group, &group.name))).collect();
    Value::Map(Map::from([
        ("kind", Value::from("APIGroupList")),
        ("apiVersion", Value::from("v1")),
        ("groups", Value::List(groups)),
    ]))
}

fn group_fields(group: &Group, asked: &str) -> Map {
    let versions = group.versions.iter().map(|version| {
        Value::Map(Map::from([
            ("groupVersion", Value::from(format!("{asked}/{}", version.name))),
            ("version", Value::from(version.name.as_str())),
        ]))
    });
    let versions: Vec<Value> = versions.collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    Map::from([
        ("name", Value::from(asked)),
        ("versions", Value::List(versions)),
        ("preferredVersion", preferred),
    ])
}

fn resources(resources: &[Arc<Resource>], asked: &str, version: &str) -> Value {
    let mut resources: Vec<&Resource> = resources.iter().map(AsRef::as_ref).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    let mut entries = Vec::new();
    for resource in resources {
        entries.push(resource_entry(resource));
        let subresources = subresources(resource).into_iter();
        entries.extend(subresources.map(|subresource| subresource_entry(resource, subresource)));
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

/// The subresources by name; those of custom resources as they are given.
pub(super) fn subresources(resource: &Resource) -> Vec<&Subresource> {
    let mut subresources: Vec<&Subresource> = resource.subresources.iter().collect();
    if !resource.is_custom() {
        subresources.sort_by(|a, b| a.name.cmp(&b.name));
    }
    subresources
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
