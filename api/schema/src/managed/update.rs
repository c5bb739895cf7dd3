//! `managedFields` after a create, an update or a patch that is no apply.

use quorate_meta::Value;

use super::versions::{Versions, Views};
use super::{Entry, Managed, Operation, cap, fit, losses, settle};
use crate::fieldset::{FieldSet, Reach, compare};
use crate::graph::{Graph, TypeId};

/// Fields without a manager, because only the server sets them.
const UNTRACKED: [&str; 3] = ["apiVersion", "kind", METADATA];
/// Such fields below `metadata`.
const UNTRACKED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];
const METADATA: &str = "metadata";

/// The manager of a request and what it writes through.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The manager: the `fieldManager` parameter, or the prefix of the User-Agent before the slash.
    pub name: &'a str,
    /// Version of the resource that the request used.
    pub api_version: &'a str,
    /// Subresource of the request; empty for the object itself.
    pub subresource: &'a str,
    /// Now, RFC 3339 in UTC with whole seconds.
    pub time: &'a str,
    /// Fields that requests to this (sub)resource can set: all but `status`, for example.
    pub reach: &'a Reach,
    /// The other versions of the kind.
    pub versions: &'a dyn Versions,
}

/// The entries that an update starts from.
enum Basis {
    /// These entries.
    Entries(Managed),
    /// No entries; the changes of the request get one.
    Reset,
    /// The object has no entries, and an update does not add any.
    Untracked,
}

/// Sets `metadata.managedFields` of `new`, which replaces `live` (`None`: it is created). Both are
/// in canonical form with defaults. Called after admission and before the strategy sets server-side
/// fields.
pub fn update_managed_fields(
    graph: &Graph,
    ty: TypeId,
    live: Option<&Value>,
    new: &mut Value,
    writer: &Writer<'_>,
) {
    let requested =
        new.get_mut("metadata").and_then(|meta| meta.as_map_mut()?.remove("managedFields"));
    let basis = live.map_or(Basis::Entries(Managed::default()), |live| {
        basis(live, requested.as_ref(), writer.subresource)
    });
    let managed = match basis {
        Basis::Untracked => return,
        Basis::Reset => Managed::default(),
        Basis::Entries(managed) => managed,
    };
    let nothing;
    let old = match live {
        Some(live) => live,
        None => {
            nothing = crate::decode::zero(graph, ty);
            &nothing
        }
    };
    let managed = take_over(graph, ty, (old, new), managed, writer);
    managed.write(new);
}

fn basis(live: &Value, requested: Option<&Value>, subresource: &str) -> Basis {
    let stored = || Managed::decode(live.at(&["metadata", "managedFields"])).unwrap_or_default();
    let managed = if !subresource.is_empty() {
        stored()
    } else if Managed::is_reset(requested) {
        return Basis::Reset;
    } else {
        let requested =
            Managed::decode(requested).ok().filter(|managed| !managed.entries.is_empty());
        requested.unwrap_or_else(stored)
    };
    if managed.entries.is_empty() { Basis::Untracked } else { Basis::Entries(managed) }
}

/// Moves changed fields to the manager of the request, and removes removed fields from all entries.
pub(crate) fn take_over(
    graph: &Graph,
    ty: TypeId,
    (old, new): (&Value, &Value),
    mut managed: Managed,
    writer: &Writer<'_>,
) -> Managed {
    let changes = compare(graph, ty, old, new).within(writer.reach);
    let mut taken;
    if managed.entries.is_empty() {
        // No entry loses a field.
        taken = changes.added;
        taken.add(&changes.modified);
    } else {
        fit(graph, ty, writer.api_version, old, writer.versions, &mut managed);
        taken = changes.added.clone();
        taken.add(&changes.modified);
        let mut views = Views::new(writer.versions, writer.api_version, (old, new), changes);
        let lost = losses(&managed, &mut views, |_| false);
        settle(&mut managed, &mut views, &lost, |_| false);
    }
    strip(&mut taken);
    if !taken.is_empty() {
        add(&mut managed, taken, writer);
    }
    cap::merge_oldest(&mut managed);
    managed
}

/// Removes untracked fields.
pub(crate) fn strip(fields: &mut FieldSet) {
    fields.remove_fields(&UNTRACKED);
    fields.within(METADATA, |fields| fields.remove_fields(&UNTRACKED_METADATA));
}

pub(super) fn add(managed: &mut Managed, taken: FieldSet, writer: &Writer<'_>) {
    let mut mine = writer.entry(Operation::Update, taken);
    mine.time = Some(writer.time.to_owned());
    if let Some(at) = managed.entries.iter().position(|entry| entry.same_writer(&mine)) {
        let before = managed.entries.swap_remove(at);
        mine.fields.add(&before.fields);
    }
    managed.entries.push(mine);
}

impl Writer<'_> {
    /// An entry of this manager, without a time.
    pub(crate) fn entry(&self, operation: Operation, fields: FieldSet) -> Entry {
        Entry {
            manager: if self.name.is_empty() { "unknown" } else { self.name }.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            time: None,
            fields,
        }
    }
}
