//! Field ownership (server-side apply, KEP-555): the schema's engine of managed fields, called with
//! the resource, the part that is written, and the other versions of the kind.
//!
//! Not here: the engine itself.

use std::sync::Arc;

use quorate_meta::{GroupVersion, GroupVersionKind, Time, Value};
use quorate_schema::apply::{Applier, ApplyError, Config};
use quorate_schema::fieldset::{FieldSet, Fields, Reach};
use quorate_schema::managed::{Managed, Seen, Versions, Writer, take_named, update_managed_fields};
use quorate_schema::{Graph, TypeId};

use super::{Part, Resource};

/// A field manager that writes a part of an object.
#[derive(Debug, Clone, Copy)]
pub struct FieldManager<'a> {
    /// The resource of the object.
    pub resource: &'a Resource,
    /// The part that is written.
    pub part: Part,
    /// The manager's name.
    pub manager: &'a str,
    /// The time of the write.
    pub now: Time,
}

impl FieldManager<'_> {
    /// Records in the new object's `metadata.managedFields` which manager changed which fields
    /// since `old`. Runs before the strategy sets fields of the server. `named` has the fields that
    /// the request names, `None` when it is the whole object.
    pub(crate) fn track(&self, old: Option<&Value>, new: &mut Value, named: Option<&Value>) {
        let (graph, ty) = (self.resource.graph(), self.resource.ty());
        let resets = old.is_some() && self.part == Part::Main;
        let resets = resets && Managed::is_reset(new.at(&["metadata", "managedFields"]));
        self.with_writer(|writer| {
            update_managed_fields(&graph, ty, old, new, &writer);
            if resets {
                take_named(&graph, ty, new, named, &writer);
            }
        });
    }

    /// The object that results from a server-side apply, with its managed fields, before defaults.
    ///
    /// # Errors
    /// Conflicts with other managers, unless the apply is forced.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Config,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let (graph, ty) = (self.resource.graph(), self.resource.ty());
        let graph = &**graph;
        self.with_writer(|writer| Applier { graph, ty, writer, force }.apply(live, config))
    }

    /// The fields that a write of the part can set.
    fn reach(&self) -> Reach {
        let strategy = &self.resource.strategy;
        match strategy.only(self.part) {
            Some(fields) => Reach::Only(Fields::of(fields)),
            None => Reach::AllBut(FieldSet::of_fields(strategy.ignored(self.part))),
        }
    }

    fn with_writer<T>(&self, act: impl FnOnce(Writer<'_>) -> T) -> T {
        act(Writer {
            name: self.manager,
            api_version: &self.resource.api_version,
            subresource: self.part.subresource(),
            time: &self.now.seconds(),
            reach: &self.reach(),
            versions: &OtherVersions { resource: self.resource },
        })
    }
}

/// The versions of a resource's kind.
struct OtherVersions<'a> {
    resource: &'a Resource,
}

impl OtherVersions<'_> {
    /// The type of the kind in a version of its group.
    fn ty(&self, of: &GroupVersion) -> Option<(Arc<Graph>, TypeId)> {
        if self.resource.is_custom() {
            let mut versions = self.resource.versions.iter();
            let (_, types) = versions.find(|(version, _)| *version == of.version)?;
            return Some((types.graph(), types.ty()));
        }
        let (graph, kind) = (self.resource.graph(), self.resource.kind.as_str());
        let kind = GroupVersionKind::new(of.group.as_str(), of.version.as_str(), kind);
        let ty = graph.kind(&kind)?.ty;
        Some((graph.clone(), ty))
    }
}

impl Versions for OtherVersions<'_> {
    fn convert(&self, from: &str, to: &str, object: &Value) -> Seen {
        // Entries of another group's kind that shares the objects are left unchanged.
        let version = |text: &str| {
            GroupVersion::parse(text).filter(|found| found.group == self.resource.group)
        };
        let (Some(from), Some(to)) = (version(from), version(to)) else {
            return Seen::Unknown;
        };
        let (Some(_), Some((graph, ty))) = (self.ty(&from), self.ty(&to)) else {
            return Seen::Gone;
        };
        // What another server makes of the object in that version is not known here.
        if self.resource.remote.is_some() && from.version != to.version {
            return Seen::Unknown;
        }
        let mut object = object.clone();
        if let Some(conversion) = self.resource.conversion(&from.version) {
            conversion.to_stored(&mut object);
        }
        if let Some(conversion) = self.resource.conversion(&to.version) {
            conversion.to_served(&mut object);
        }
        Seen::As(graph, ty, object)
    }
}
