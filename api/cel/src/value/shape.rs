//! Shapes: how data bound to a variable is read, as its schema declares it.
//!
//! Invariants: a shape says more than a static type (formats, semantics of lists, names of fields in JSON); `dyn` data is read
//! as JSON says. Not here: how schemas become shapes.

use std::sync::Arc;

use quorate_meta as data;
use quorate_schema::structural::cel_types::escape_keyword;

use super::Value;
use crate::ast::Name;
use crate::library::names;
use crate::types::Type;

/// How a piece of data is read.
#[derive(Debug, Clone, Default)]
pub enum Shape {
    /// As JSON says: integers, doubles, text, lists, maps.
    #[default]
    Dyn,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// A number that is always a double.
    Double,
    /// Text.
    String,
    /// Text in base64, read as bytes.
    Bytes,
    /// A date (`2024-01-31`), read as a timestamp.
    Date,
    /// A date with a time, read as a timestamp.
    Timestamp,
    /// A duration as text (`1h30m`), read as a duration.
    Duration,
    /// An integer or text; typed `dyn`.
    IntOrString,
    /// A quantity as text, read as a quantity.
    Quantity,
    /// A list.
    List(Arc<ListShape>),
    /// A map from text.
    Map(Arc<Shape>),
    /// An object with declared fields.
    Object(Arc<ObjectShape>),
}

/// How a list is read.
#[derive(Debug)]
pub struct ListShape {
    /// Its elements.
    pub element: Shape,
    /// How it compares and is concatenated.
    pub semantics: ListSemantics,
}

/// How a list compares and is concatenated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListSemantics {
    /// Element by element.
    #[default]
    Atomic,
    /// As a set: order does not count, concatenation is union.
    Set,
    /// As a map whose keys are these properties of the elements (JSON names): order does not count, concatenation is a merge.
    Map(Vec<Name>),
}

/// An object type: its name and declared fields.
#[derive(Debug)]
pub struct ObjectShape {
    /// Name of the type.
    pub name: Name,
    fields: Vec<Field>,
    /// Places of the fields, sorted by their JSON names.
    by_key: Vec<usize>,
}

/// A declared field.
#[derive(Debug)]
pub struct Field {
    /// Its name in expressions, escaped.
    pub name: Name,
    /// Its name in JSON.
    pub key: Name,
    /// How it is read.
    pub shape: Shape,
}

impl Shape {
    /// As JSON says, kept for as long as the program runs.
    pub const DYN: &'static Self = &Self::Dyn;

    /// The static type of data read in this way.
    pub fn to_type(&self) -> Type {
        match self {
            Self::Dyn | Self::IntOrString => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Double => Type::Double,
            Self::String => Type::String,
            Self::Bytes => Type::Bytes,
            Self::Date | Self::Timestamp => Type::Timestamp,
            Self::Duration => Type::Duration,
            Self::Quantity => names::object(names::QUANTITY),
            Self::List(list) => Type::List(Arc::new(list.element.to_type())),
            Self::Map(value) => Type::Map(Arc::new(Type::String), Arc::new(value.to_type())),
            Self::Object(object) => Type::Object(object.name.clone()),
        }
    }

    /// How elements of a list, or values of a map, of this shape are read.
    pub(super) fn element(&self) -> &Shape {
        match self {
            Self::List(list) => &list.element,
            Self::Map(value) => value,
            _ => &Shape::Dyn,
        }
    }

    /// Semantics of a list of this shape.
    pub(super) fn list_semantics(&self) -> &ListSemantics {
        match self {
            Self::List(list) => &list.semantics,
            _ => &ListSemantics::Atomic,
        }
    }

    /// The property of `map` that expressions call `name`; in objects a `null` counts as absent.
    pub(super) fn field<'a>(&'a self, map: &'a data::Map, name: &str) -> Option<Value<'a>> {
        self.property(map, name).map(|(value, shape)| shape.read(value))
    }

    /// The data of the property of `map` that expressions call `name`, and how it is read.
    #[inline]
    pub(crate) fn property<'a>(
        &'a self,
        map: &'a data::Map,
        name: &str,
    ) -> Option<(&'a data::Value, &'a Shape)> {
        if let Self::Object(object) = self {
            let field = object.field(name)?;
            let value = entry(map, &field.key).filter(|value| !value.is_null())?;
            return Some((value, &field.shape));
        }
        Some((entry(map, name)?, self.element()))
    }
}

/// So many entries are searched one by one.
const SEARCHED_ENTRIES: usize = 10;

/// The value of `key`.
#[inline]
fn entry<'a>(map: &'a data::Map, key: &str) -> Option<&'a data::Value> {
    if map.len() <= SEARCHED_ENTRIES {
        return map.iter().find(|(known, _)| *known == key).map(|(_, value)| value);
    }
    map.get(key)
}

impl ObjectShape {
    /// An object type.
    pub fn new(name: impl Into<Name>, mut fields: Vec<Field>) -> Self {
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        let mut by_key: Vec<usize> = (0..fields.len()).collect();
        by_key.sort_by(|left, right| fields[*left].key.cmp(&fields[*right].key));
        Self { name: name.into(), fields, by_key }
    }

    /// The declared fields, sorted by their names in expressions.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field that expressions call `name`. One that is called like a word of the language is found without its escape too.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.escaped_field(name).or_else(|| self.escaped_field(&escape_keyword(name)?))
    }

    fn escaped_field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The field that JSON calls `key`.
    pub fn field_of_key(&self, key: &str) -> Option<&Field> {
        let at = self.by_key.binary_search_by(|at| (*self.fields[*at].key).cmp(key)).ok()?;
        Some(&self.fields[self.by_key[at]])
    }
}
