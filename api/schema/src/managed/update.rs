//! Ownership after a create, an update or a patch that is no apply.

use quorate_meta::Value;

use super::{Entry, Managed, Operation, cap};
use crate::fieldset::{Comparison, FieldSet, compare};
use crate::graph::{Graph, TypeId};

/// Fields that only the server sets; nobody owns them (dotted paths).
const UNTRACKED: [&str; 12] = [
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
];

/// Who writes, through what, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// Name: the fieldManager parameter or what comes before the slash of the User-Agent.
    pub name: &'a str,
    /// Version of the resource that the request used.
    pub api_version: &'a str,
    /// Subresource of the request; empty for the object itself.
    pub subresource: &'a str,
    /// Now, RFC 3339 in UTC with whole seconds.
    pub time: &'a str,
    /// Fields that requests to this (sub)resource cannot set, such as `status`.
    pub ignored: &'a FieldSet,
}

/// What the request says about entries.
enum Basis {
    /// These are the entries to start from.
    Entries(Managed),
    /// All entries are dropped; what the request changes is tracked from now on.
    Reset,
    /// The object is not tracked and an update does not change that.
    Untracked,
}

/// Sets `metadata.managedFields` of `new`, which is about to replace `live` (`None`: it is created). Both are in canonical
/// form, defaults applied; call it after admission and before the strategy fills in what only the server sets.
pub fn update_managed_fields(graph: &Graph, ty: TypeId, live: Option<&Value>, new: &mut Value, writer: &Writer<'_>) {
    let requested = new.get_mut("metadata").and_then(|meta| meta.as_map_mut()?.remove("managedFields"));
    let basis =
        live.map_or(Basis::Entries(Managed::default()), |live| basis(live, requested.as_ref(), writer.subresource));
    let managed = match basis {
        Basis::Untracked => return,
        Basis::Reset => Managed::default(),
        Basis::Entries(managed) => managed,
    };
    let difference = match live {
        Some(live) => compare(graph, ty, live, new),
        None => compare(graph, ty, &crate::decode::zero(graph, ty), new),
    };
    let managed = take_over(managed, difference, writer);
    if let (Some(list), Some(meta)) = (managed.encode(), new.get_mut("metadata").and_then(Value::as_map_mut)) {
        meta.insert("managedFields", list);
    }
}

fn basis(live: &Value, requested: Option<&Value>, subresource: &str) -> Basis {
    let stored = || Managed::decode(live.at(&["metadata", "managedFields"])).unwrap_or_default();
    let managed = if !subresource.is_empty() {
        stored()
    } else if Managed::is_reset(requested) {
        return Basis::Reset;
    } else {
        let requested = Managed::decode(requested).ok().filter(|managed| !managed.entries.is_empty());
        requested.unwrap_or_else(stored)
    };
    if managed.entries.is_empty() { Basis::Untracked } else { Basis::Entries(managed) }
}

/// Moves what changed to the writer and takes what is gone from everybody.
fn take_over(mut managed: Managed, difference: Comparison, writer: &Writer<'_>) -> Managed {
    let reached = |fields: FieldSet| match writer.ignored.is_empty() {
        true => fields,
        false => fields.difference_recursive(writer.ignored),
    };
    let changed = reached(difference.added.union(&difference.modified));
    let gone = reached(difference.removed);
    for entry in managed.entries.iter_mut().filter(|entry| entry.api_version == writer.api_version) {
        entry.fields = entry.fields.difference(&changed).difference(&gone);
    }
    managed.drop_empty();
    let mut taken = changed;
    for path in UNTRACKED {
        taken.remove_field(path);
    }
    if !taken.is_empty() {
        add(&mut managed, taken, writer);
    }
    cap::merge_oldest(&mut managed);
    managed
}

fn add(managed: &mut Managed, taken: FieldSet, writer: &Writer<'_>) {
    let name = if writer.name.is_empty() { "unknown" } else { writer.name };
    let mut mine = Entry {
        manager: name.to_owned(),
        operation: Operation::Update,
        api_version: writer.api_version.to_owned(),
        subresource: writer.subresource.to_owned(),
        time: Some(writer.time.to_owned()),
        fields: taken,
    };
    if let Some(at) = managed.entries.iter().position(|entry| entry.same_writer(&mine)) {
        let before = managed.entries.swap_remove(at);
        mine.fields = mine.fields.union(&before.fields);
    }
    managed.entries.push(mine);
}
