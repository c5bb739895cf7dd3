//! Message types and their fields.

use std::sync::Arc;

use quorate_meta::Value;

use super::build::blank;
use super::rule::DeclaredRule;
use super::{Shape, Text};

/// Index of a type in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(super) u32);

impl TypeId {
    /// Its place among the types of its graph.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// How many places after `first` it is; `None` when it comes before.
    pub(crate) fn since(self, first: Self) -> Option<usize> {
        self.index().checked_sub(first.index())
    }

    /// The number `count` places on.
    pub(crate) fn after(self, count: usize) -> Self {
        Self(u32::try_from(self.index() + count).expect("a graph has fewer than 2^32 types"))
    }
}

/// A message.
#[derive(Debug)]
pub struct TypeDef {
    /// Its index in the graph.
    pub id: TypeId,
    /// Neutral group name; `core` for the core group.
    pub group: &'static str,
    /// Version within the group.
    pub version: &'static str,
    /// Name within the version.
    pub name: Text,
    /// Has apiVersion and kind in JSON.
    pub object: bool,
    /// One value for managers and merges.
    pub atomic: bool,
    /// A special JSON form.
    pub mixed: Option<Mixed>,
    /// Part of a custom resource, and what becomes of fields that it does not have; `None` for built-in types.
    pub custom: Option<Unknowns>,
    /// Of a custom resource: something in it, at any depth, has a default.
    pub fills: bool,
    /// Of a custom resource: it is an object with metadata, or has one in it.
    pub has_objects: bool,
    /// Fields of which one is chosen by a discriminator.
    pub unions: Vec<Union>,
    /// Fields as declared, inline messages as one field: the protobuf form.
    pub fields: Vec<Arc<Field>>,
    /// Fields as JSON has them, inline ones pulled up, apiVersion and kind of objects included;
    /// sorted by name.
    pub properties: Vec<Arc<Field>>,
    /// The description, one line; may be empty.
    pub doc: Text,
}

impl TypeDef {
    /// The property with this JSON name (names are case-sensitive).
    pub fn property(&self, name: &str) -> Option<&Field> {
        let at = self.properties.binary_search_by(|field| field.name.as_ref().cmp(name)).ok()?;
        Some(&self.properties[at])
    }

    /// The neutral name: `core/v1.ConfigMap`.
    pub fn full_name(&self) -> String {
        format!("{}/{}.{}", self.group, self.version, self.name)
    }

    /// A type of a custom resource. Fields in any order; the last of the same name counts.
    pub(crate) fn custom(id: TypeId, unknowns: Unknowns, fields: Vec<Field>) -> Self {
        let mut properties: Vec<Arc<Field>> = fields.into_iter().map(Arc::new).collect();
        properties.sort_by(|left, right| left.name.cmp(&right.name));
        Self {
            id,
            group: "",
            version: "",
            name: Text::Borrowed(""),
            object: false,
            atomic: false,
            mixed: None,
            custom: Some(unknowns),
            fills: false,
            has_objects: false,
            unions: Vec::new(),
            fields: Vec::new(),
            properties,
            doc: Text::Borrowed(""),
        }
    }

    /// Whether it is any JSON, with no fields of its own.
    pub(crate) fn is_untyped(&self) -> bool {
        matches!(self.custom, Some(Unknowns::Untyped | Unknowns::Emptied))
    }
}

/// A field of a message.
#[derive(Clone, Debug)]
pub struct Field {
    /// JSON name.
    pub name: Text,
    /// Protobuf number; `None` when it has no protobuf form.
    pub tag: Option<u32>,
    /// The shape of its value.
    pub shape: Shape,
    /// Absent differs from zero (a pointer).
    pub pointer: bool,
    /// The schema requires it.
    pub required: bool,
    /// Written also when it is zero.
    pub always: bool,
    /// A nested message whose fields are at the parent's level in JSON.
    pub inline: bool,
    /// A message around the list in protobuf.
    pub wrapped: bool,
    /// The list type; `None` means atomic.
    pub list: Option<ListKind>,
    /// The map type; `None` means granular.
    pub map: Option<MapKind>,
    /// The behaviour in a strategic merge patch.
    pub patch: Patch,
    /// `null` is a value of its own (custom resources).
    pub nullable: bool,
    /// Of a list or map of a custom resource: the elements, and theirs in turn; empty when nothing is said.
    pub elements: Vec<ElementDef>,
    /// Value when it is absent.
    pub default: Option<Value>,
    /// All allowed values; empty when the set is open.
    pub allowed: Vec<Text>,
    /// Well-known values of an open set.
    pub known: Vec<Text>,
    /// Rules of declarative validation.
    pub rules: Vec<DeclaredRule>,
    /// The description, one line; may be empty.
    pub doc: Text,
}

/// What becomes of fields that a type of a custom resource does not have. Values of such types are kept as they are written:
/// they have no zero that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknowns {
    /// They are pruned.
    Dropped,
    /// They are kept; maps in them are owned entry by entry.
    Kept,
    /// Any JSON at all, whose maps are owned entry by entry.
    Untyped,
    /// Any JSON, but the maps in it lose their entries: `additionalProperties: true`.
    Emptied,
}

/// What a custom resource says of the elements of a list or the entries of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementDef {
    /// `null` is a value of its own.
    pub nullable: bool,
    /// Stands for `null`.
    pub default: Option<Value>,
    /// How their own elements are told apart, when they are lists.
    pub list: Option<ListKind>,
    /// How they are owned, when they are maps or messages.
    pub map: Option<MapKind>,
}

impl Field {
    /// A field of a custom resource: absent differs from zero, `null` is dropped, nothing has a default.
    pub(crate) fn custom(name: Text, shape: Shape) -> Self {
        Self { name, shape, pointer: true, ..blank() }
    }

    /// Whether the field, or something in it, has a default; `ty` gives the types of custom resources.
    pub(crate) fn fills_by<'t>(&self, ty: impl Fn(TypeId) -> Option<&'t TypeDef>) -> bool {
        self.default.is_some()
            || self.elements.iter().any(|element| element.default.is_some())
            || self.shape.message().and_then(ty).is_some_and(|ty| ty.fills)
    }
}

/// The list type (`x-kubernetes-list-type`): the identity of list elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The list is one value.
    Atomic,
    /// Scalars without duplicates.
    Set,
    /// Messages told apart by the values of these properties.
    Map(Vec<Text>),
}

/// The map type (`x-kubernetes-map-type`) of a map or message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// As one value.
    Atomic,
    /// Entry by entry.
    Granular,
}

/// The strategic merge patch behaviour of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Lists are merged element by element.
    pub merge: bool,
    /// `$retainKeys` is expected.
    pub retain_keys: bool,
    /// The value is replaced as a whole.
    pub replace: bool,
    /// The merge key; `None` for lists of scalars.
    pub key: Option<Text>,
}

impl Patch {
    /// The strategy text of OpenAPI: `merge`, `merge,retainKeys`, ...; `None` when nothing is said.
    pub fn strategy(&self) -> Option<&'static str> {
        Some(match (self.merge, self.retain_keys, self.replace) {
            (true, true, _) => "merge,retainKeys",
            (true, false, _) => "merge",
            (false, true, _) => "retainKeys",
            (false, false, true) => "replace",
            (false, false, false) => return None,
        })
    }
}

/// Messages with a special JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// A schema or a list of schemas.
    SchemaOrList,
    /// A schema or `true`/`false`.
    SchemaOrBool,
    /// A schema or a list of strings.
    SchemaOrStrings,
}

/// Fields of which at most one is set, named by a discriminator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Union {
    /// The field with the chosen value.
    pub discriminator: Text,
    /// Field name and the discriminator's value for it.
    pub members: Vec<(Text, Text)>,
}
