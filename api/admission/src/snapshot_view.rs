//! Snapshot views: the objects of one state, as plugins read them.
//!
//! Invariant: all reads through a view are of the same revision; a view writes nothing.

use std::sync::Arc;

use quorate_meta::{Names, Status, Value};
use quorate_store::{Entry, Snapshot};

use crate::metrics::{AdmissionMetrics, UncountedAdmission};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::{Attributes, Catalogue, Resource, stored_codec, topology};

/// One state of the cluster.
pub(super) struct SnapshotView<'a> {
    /// The names of the cluster's profile.
    pub(super) names: &'static Names,
    catalogue: &'a Catalogue,
    snapshot: &'a Snapshot,
    /// Who counts what is decided by it.
    pub(super) metrics: &'a dyn AdmissionMetrics,
}

impl<'a> SnapshotView<'a> {
    pub(super) fn new(
        names: &'static Names,
        catalogue: &'a Catalogue,
        snapshot: &'a Snapshot,
    ) -> Self {
        Self { names, catalogue, snapshot, metrics: &UncountedAdmission }
    }

    /// The same, for decisions that are counted.
    pub(super) fn counted_by(self, metrics: &'a dyn AdmissionMetrics) -> Self {
        Self { metrics, ..self }
    }

    /// A resource by its neutral group (empty for the core group), version and plural name; `None`
    /// where it is not served.
    pub(super) fn resource(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<&'a Resource> {
        let group = if group.is_empty() { String::new() } else { self.names.group(group) };
        self.catalogue.find_builtin(&group, version, plural).map(|resource| &**resource)
    }

    /// Every resource that is served.
    pub(super) fn resources(&self) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.catalogue.iter()
    }

    /// The resource whose objects have this kind; `None` where it is not served.
    pub(super) fn resource_of_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<&'a Resource> {
        self.catalogue.find_kind(group, version, kind).map(|resource| &**resource)
    }

    /// Sets the topology labels of this node in an object.
    pub(super) fn place(&self, node: &str, object: &mut Value) -> Result<(), Error> {
        topology::label(self.names, self.catalogue, self.snapshot, node, object)
    }

    /// Whether a namespace is there and takes new objects.
    pub(super) fn is_live(&self, namespace: &str) -> bool {
        self.snapshot.get(&Key::Live { namespace }.encode()).is_some()
    }

    /// An object as clients see it; `None` when there is none.
    pub(super) fn get(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        self.entry(resource, namespace, name)
            .map(|entry| stored_codec::decode(resource, entry))
            .transpose()
    }

    /// An object as it is stored.
    pub(super) fn entry(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<&'a Entry> {
        self.snapshot.get(&resource.key(namespace, name))
    }

    /// Every object of a namespace (or of the cluster), with its name, in order of names.
    pub(super) fn list(
        &self,
        resource: &'a Resource,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, &'a Entry)> + use<'a> {
        let entries = self.snapshot.range(&resource.prefix(namespace), None);
        entries.filter_map(move |(key, entry)| Some((resource.parse_key(key)?.1, entry)))
    }
}

/// Whether a write is about this resource (of the core group: an empty one).
pub(super) fn is_of(attributes: &Attributes<'_>, names: &Names, group: &str, plural: &str) -> bool {
    let resource = attributes.target.resource;
    resource.plural == plural && resource.group == names.group(group)
}

/// 403 for the write.
pub(super) fn forbidden(attributes: &Attributes<'_>, why: &str) -> Error {
    Status::forbidden(&attributes.target.resource.group_resource(), attributes.target.name, why)
        .into()
}
