//! Kinds: names, verbs, subresources, storage and table columns of a resource.

use quorate_meta::{GroupVersion, GroupVersionKind, GroupVersionResource};

use super::{Text, TypeId};

/// A kind. Those without a resource of their own (Status, DeleteOptions, Scale, ...) have an empty
/// `resource`.
#[derive(Debug)]
pub struct KindDef {
    /// Group name in the naming profile; empty for core.
    pub group: String,
    /// Neutral group name; `core` for core.
    pub neutral_group: &'static str,
    /// Version name.
    pub version: Text,
    /// Kind name.
    pub kind: Text,
    /// Kind of the collection, when it can be listed.
    pub list_kind: Option<Text>,
    /// Plural name in paths; empty when there is no resource.
    pub resource: Text,
    /// Singular name.
    pub singular: Text,
    /// Short names for command lines.
    pub short_names: Vec<Text>,
    /// Groups of resources for command lines, such as `all`.
    pub categories: Vec<Text>,
    /// Objects live in namespaces.
    pub namespaced: bool,
    /// Verbs of the resource itself: create, get, list, watch, update, patch, delete,
    /// deletecollection.
    pub verbs: Vec<Text>,
    /// Subresources in name order.
    pub subresources: Vec<Subresource>,
    /// Labels that a field selector may use.
    pub selectable_fields: Vec<Text>,
    /// Group in which objects are stored; its own but for events, which are the core group's.
    pub storage_group: String,
    /// Version of that group in which objects are stored; `None` when they are not.
    pub storage_version: Option<Text>,
    /// Whether an immediate deletion returns the object instead of a Status.
    pub delete_returns_object: bool,
    /// Whether OpenAPI has the object as the response of a deletion.
    pub delete_documents_object: bool,
    /// Known in every group version (options, WatchEvent).
    pub everywhere: bool,
    /// Whether the kind is off by default: `beta` and `alpha` kinds.
    pub off_by_default: bool,
    /// Columns of its Table; empty means the default columns.
    pub columns: Vec<Column>,
    /// The type of its objects.
    pub ty: TypeId,
    /// The type of its collection.
    pub list_ty: Option<TypeId>,
}

impl KindDef {
    /// Group, version and kind.
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::new(self.group.clone(), self.version.as_ref(), self.kind.as_ref())
    }

    /// Group, version and resource.
    pub fn gvr(&self) -> GroupVersionResource {
        GroupVersionResource::new(self.group.clone(), self.version.as_ref(), self.resource.as_ref())
    }

    /// The `apiVersion` text of its objects.
    pub fn api_version(&self) -> String {
        GroupVersion::new(self.group.clone(), self.version.as_ref()).to_string()
    }

    /// Whether the resource has this verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|other| other == verb)
    }

    /// The subresource with this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|other| other.name == name)
    }
}

/// A subresource.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Last path segment.
    pub name: Text,
    /// Kind of its body, in its own group version.
    pub kind: GroupVersionKind,
    /// Verbs: create, get, update, patch, delete.
    pub verbs: Vec<Text>,
}

/// A column of a Table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading.
    pub name: Text,
    /// Declared type: string, integer, number, boolean, date.
    pub kind: Text,
    /// Declared format; `name` marks the name column.
    pub format: Text,
    /// 0 is always shown, 1 in wide output only.
    pub priority: i32,
    /// JSON type of the cell when it differs from `kind`: `int`, `bool`.
    pub cell: Text,
    /// What the cell shows: a path such as `.status.phase`, or words. `~` stands for the profile's
    /// domain.
    pub value: Text,
    /// The description, one line.
    pub doc: Text,
}
