//! One served resource: its names, its place in the keyspace, and the strategy that knows its semantics.
//!
//! Invariants: immutable once built and shared as `Arc<Resource>`; every name is already in the cluster's naming profile.
//! A resource does no I/O; handlers and controllers do, with the keys made here.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_meta::{GroupKind, GroupResource};
use quorate_schema::{Column, TypeId};

use super::keys::{self, Key};
use super::strategy::Strategy;

/// A resource type in one group version.
#[derive(Debug)]
pub struct Resource {
    /// Full group name; empty for the core group.
    pub group: String,
    /// For example `v1`.
    pub version: String,
    /// `VERSION` for the core group, else `GROUP/VERSION`.
    pub api_version: String,
    /// For example `ConfigMap`.
    pub kind: String,
    /// For example `ConfigMapList`.
    pub list_kind: String,
    /// Plural, lower case: the segment in URIs.
    pub plural: String,
    /// Lower case.
    pub singular: String,
    /// Abbreviations that clients accept.
    pub short_names: Vec<String>,
    /// Groups of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Verbs served on the resource itself, as discovery lists them.
    pub verbs: Vec<String>,
    /// What is served below an object.
    pub subresources: Vec<Subresource>,
    /// Field labels that a field selector may name.
    pub selectable_fields: Vec<String>,
    /// The type of its objects in the schema graph.
    pub ty: TypeId,
    /// Columns of its Table; empty means the default columns.
    pub columns: Vec<Column>,
    /// Whether an immediate deletion answers with the object, not with a Status.
    pub delete_returns_object: bool,
    /// The version that objects are stored in, as discovery hashes it.
    pub storage_version: String,
    /// What no schema can say about the kind.
    pub strategy: Arc<dyn Strategy>,
    pub(super) prefix: Bytes,
}

/// A path segment served below an object, such as `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    /// The segment.
    pub name: String,
    /// Group of the kind that it takes and answers; empty for the core group.
    pub group: String,
    /// Version of that kind.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Verbs served, as discovery lists them.
    pub verbs: Vec<String>,
}

impl Resource {
    /// The key of one object. `namespace` is ignored for cluster-scoped resources.
    #[must_use]
    pub fn key(&self, namespace: Option<&str>, name: &str) -> Bytes {
        let namespace = if self.namespaced { namespace.or(Some("")) } else { None };
        let length = self.prefix.len() + namespace.map_or(0, |namespace| namespace.len() + 1) + name.len();
        let mut key = BytesMut::with_capacity(length);
        key.put_slice(&self.prefix);
        if let Some(namespace) = namespace {
            key.put_slice(namespace.as_bytes());
            key.put_u8(b'/');
        }
        key.put_slice(name.as_bytes());
        key.freeze()
    }

    /// What the key of every object in the collection begins with: one namespace's objects, or all of them.
    #[must_use]
    pub fn prefix(&self, namespace: Option<&str>) -> Bytes {
        match namespace {
            Some(namespace) if self.namespaced && !namespace.is_empty() => {
                let mut prefix = BytesMut::with_capacity(self.prefix.len() + namespace.len() + 1);
                prefix.put_slice(&self.prefix);
                prefix.put_slice(namespace.as_bytes());
                prefix.put_u8(b'/');
                prefix.freeze()
            }
            _ => self.prefix.clone(),
        }
    }

    /// The namespace and name that a key of this resource stands for; the inverse of [`Resource::key`].
    #[must_use]
    pub fn parse_key<'k>(&self, key: &'k [u8]) -> Option<(Option<&'k str>, &'k str)> {
        match Key::parse(key)? {
            Key::Object { namespace, name, .. } if key.starts_with(&self.prefix) => Some((namespace, name)),
            _ => None,
        }
    }

    /// Whether the resource itself serves this verb.
    #[must_use]
    pub fn serves(&self, verb: &str) -> bool {
        self.verbs.iter().any(|served| served == verb)
    }

    /// The subresource with this name.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// `PLURAL` for the core group, else `PLURAL.GROUP`: how messages name the resource.
    #[must_use]
    pub fn qualified(&self) -> String {
        self.group_resource().to_string()
    }

    /// Group and plural name: what most Status bodies are about.
    #[must_use]
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.as_str(), self.plural.as_str())
    }

    /// Group and kind: what Status bodies of validation are about.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.as_str(), self.kind.as_str())
    }

    pub(super) fn storage_prefix(group: &str, plural: &str) -> Bytes {
        keys::resource_prefix(group, plural)
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use quorate_schema::Graph;

    use crate::registry::builtin;

    #[test]
    fn keys_and_prefixes_agree() {
        let registry = builtin::registry(&Graph::builtin(Naming::Svc.names()));
        let maps = registry.find("", "v1", "configmaps").unwrap();
        let key = maps.key(Some("a"), "b");
        assert_eq!(key, "o/core/configmaps/a/b".as_bytes());
        assert!(key.starts_with(&maps.prefix(Some("a"))) && key.starts_with(&maps.prefix(None)));
        assert_eq!(maps.parse_key(&key), Some((Some("a"), "b")));
        let namespaces = registry.find("", "v1", "namespaces").unwrap();
        assert_eq!(namespaces.key(Some("ignored"), "a"), "o/core/namespaces/a".as_bytes());
        assert_eq!(namespaces.prefix(Some("a")), namespaces.prefix(None));
        assert_eq!(namespaces.parse_key(&key), None);
    }
}
