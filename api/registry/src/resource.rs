//! Served resources: the names of one, its place in the keyspace, and the strategy of its kind.
//!
//! Invariants: immutable once built and shared as `Arc<Resource>`; every name is already in the
//! cluster's naming profile. A resource does no I/O; handlers and controllers do, with the keys
//! made here.
//!
//! Not here: the catalogue of them.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_meta::{GroupKind, GroupResource};
use quorate_schema::{Column, Graph, TypeId};

use super::conversion::{Conversion, RemoteConversion, StoredForm, VersionReader};
use super::keys::{self, Key};
use super::release::Release;
use super::removal::Removal;
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
    /// Short names that clients accept.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether its objects are stored. Otherwise it is virtual, such as a review: a request that is
    /// answered at once, with the verb `create` only.
    pub stored: bool,
    /// Whether requests can use it. Otherwise it is there for the server's own parts: the objects
    /// of a custom resource are stored in its form, or it is built in and switched off.
    pub served: bool,
    /// Verbs served on the resource itself, as discovery lists them.
    pub verbs: Vec<String>,
    /// The subresources.
    pub subresources: Vec<Subresource>,
    /// Field labels that a field selector may name.
    pub selectable_fields: Vec<String>,
    /// The types of its objects.
    pub types: ObjectTypes,
    /// Columns of its Table; empty means the default columns.
    pub columns: Vec<Column>,
    /// Whether an immediate deletion answers with the object, not with a Status.
    pub delete_returns_object: bool,
    /// The group that objects are stored in, as discovery hashes it.
    pub storage_group: String,
    /// What users of the resource should know, where it is deprecated.
    pub deprecation: Option<Deprecation>,
    /// The version that objects are stored in, as discovery hashes it.
    pub storage_version: String,
    /// The conversion to the stored form, when objects are stored in the form of another version.
    pub stored_form: Option<StoredForm>,
    /// The reader of stored objects of a custom resource; `None` for built-in ones.
    pub reader: Option<Arc<dyn VersionReader>>,
    /// The conversion by another server; `None` where this one converts.
    pub remote: Option<Arc<dyn RemoteConversion>>,
    /// Conversions of the kind's other versions in this group, by version; versions without one are
    /// stored as they are.
    pub conversions: Vec<(String, Arc<dyn Conversion>)>,
    /// The types of a custom resource in each of its versions that objects need no conversion for
    /// but of their `apiVersion`; empty for built-in resources, whose graph has them all.
    pub versions: Arc<[(String, Arc<dyn TypeSource>)]>,
    /// The semantics of the kind beyond its schema.
    pub strategy: Arc<dyn Strategy>,
    /// The prefix of the key of each of its objects.
    pub prefix: Bytes,
    /// What is stored exactly while the resource takes new objects, a condition of every creation;
    /// `None` for built-in resources, which always take them.
    pub live: Option<LiveMarker>,
    /// The signal that the resource is no longer served; `None` for built-in resources.
    pub removal: Option<Removal>,
}

/// The deprecation of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The warning for each user: since when, and what to use in its place.
    pub warning: String,
    /// The first release without it, where that is known.
    pub removed_release: Option<Release>,
}

/// The types of a resource's objects: known from the start, or made when they are first needed.
#[derive(Debug)]
pub enum ObjectTypes {
    /// The graph and the type of the objects in it.
    Known(Arc<Graph>, TypeId),
    /// Made when they are used; most custom resources are never written to.
    OnDemand(Arc<dyn TypeSource>),
}

/// The schema graph of a resource's objects, while it is used.
#[derive(Debug)]
pub enum HeldGraph<'r> {
    /// The resource has it.
    Known(&'r Arc<Graph>),
    /// It is there as long as it is held.
    OnDemand(Arc<Graph>),
}

impl Deref for HeldGraph<'_> {
    type Target = Arc<Graph>;

    fn deref(&self) -> &Arc<Graph> {
        match self {
            Self::Known(graph) => graph,
            Self::OnDemand(graph) => graph,
        }
    }
}

/// The marker of a custom resource that takes new objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveMarker {
    /// The key.
    pub key: Bytes,
    /// The uid of the definition that the resource is made of.
    pub uid: Bytes,
}

impl LiveMarker {
    /// Whether a marker with this value is that of the same definition. One without a value says
    /// nothing of its definition.
    #[must_use]
    pub fn is_of(&self, value: &Bytes) -> bool {
        value.is_empty() || self.uid.is_empty() || *value == self.uid
    }
}

/// What makes the types of a resource when they are needed. They may be made again later, and are
/// the same then.
pub trait TypeSource: Send + Sync + Debug + 'static {
    /// The graph.
    fn graph(&self) -> Arc<Graph>;

    /// The type of the objects in the graph.
    fn ty(&self) -> TypeId;
}

/// A subresource: a path segment below an object, such as `status`.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// The segment.
    pub name: String,
    /// Group of the kind of its bodies; empty for the core group.
    pub group: String,
    /// Version of that kind.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Verbs served, as discovery lists them.
    pub verbs: Vec<String>,
    /// The resource of its bodies where that is another kind, such as a Scale: read like other
    /// resources, and not stored.
    pub body: Option<Arc<Resource>>,
}

impl Resource {
    /// The schema graph that knows its objects.
    #[must_use]
    pub fn graph(&self) -> HeldGraph<'_> {
        match &self.types {
            ObjectTypes::Known(graph, _) => HeldGraph::Known(graph),
            ObjectTypes::OnDemand(source) => HeldGraph::OnDemand(source.graph()),
        }
    }

    /// The type of its objects in that graph.
    #[must_use]
    pub fn ty(&self) -> TypeId {
        match &self.types {
            ObjectTypes::Known(_, ty) => *ty,
            ObjectTypes::OnDemand(source) => source.ty(),
        }
    }

    /// The key of one object. `namespace` is ignored for cluster-scoped resources.
    #[must_use]
    pub fn key(&self, namespace: Option<&str>, name: &str) -> Bytes {
        let namespace = if self.namespaced { namespace.or(Some("")) } else { None };
        let length =
            self.prefix.len() + namespace.map_or(0, |namespace| namespace.len() + 1) + name.len();
        let mut key = BytesMut::with_capacity(length);
        key.put_slice(&self.prefix);
        if let Some(namespace) = namespace {
            key.put_slice(namespace.as_bytes());
            key.put_u8(b'/');
        }
        key.put_slice(name.as_bytes());
        key.freeze()
    }

    /// The prefix of the keys of a collection: one namespace's objects, or all of them.
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

    /// The namespace and name in a key of this resource; the inverse of [`Resource::key`].
    #[must_use]
    pub fn parse_key<'k>(&self, key: &'k [u8]) -> Option<(Option<&'k str>, &'k str)> {
        match Key::parse(key)? {
            Key::Object { namespace, name, .. } if key.starts_with(&self.prefix) => {
                Some((namespace, name))
            }
            _ => None,
        }
    }

    /// Whether a definition made it: its objects say their type themselves.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.removal.is_some()
    }

    /// Whether the store has its objects in the form in which they are served; each object has one
    /// such resource.
    #[must_use]
    pub fn is_stored_form(&self) -> bool {
        self.stored && self.stored_form.is_none()
    }

    /// The name of a selectable field in stored objects.
    #[must_use]
    pub fn stored_field<'f>(&self, field: &'f str) -> &'f str {
        self.stored_form.as_ref().map_or(field, |form| form.conversion.stored_field(field))
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

    /// `PLURAL` for the core group, else `PLURAL.GROUP`: the name of the resource in messages.
    #[must_use]
    pub fn qualified(&self) -> String {
        self.group_resource().to_string()
    }

    /// Group and plural name, for `details` of most Statuses.
    #[must_use]
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.as_str(), self.plural.as_str())
    }

    /// Kind and the group that it is stored in, for `details` of Statuses of validation.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        let group = if self.stored { &self.storage_group } else { &self.group };
        GroupKind::new(group.as_str(), self.kind.as_str())
    }

    /// The conversion of a version of the kind; `None` when its objects are stored as they are.
    #[must_use]
    pub fn conversion(&self, version: &str) -> Option<&dyn Conversion> {
        self.conversions.iter().find(|(own, _)| own == version).map(|(_, conversion)| &**conversion)
    }

    /// The prefix of the keys of a resource's objects; `group` is the one that its objects are
    /// stored in.
    #[must_use]
    pub fn storage_prefix(group: &str, plural: &str) -> Bytes {
        keys::resource_prefix(group, plural)
    }
}
