//! Shapes: how data bound to a variable is read, as its schema declares it.
//!
//! Invariants: a shape says more than a static type (formats, semantics of lists, names of fields in JSON); `dyn` data is read
//! as JSON says. Not here: how schemas become shapes.

use std::sync::Arc;

use quorate_meta as data;

use super::{List, Map, Text, Value};
use crate::ast::Name;
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
    /// A date (`2024-01-31`) or a date with a time, read as a timestamp.
    Timestamp,
    /// A duration as text (`1h30m`), read as a duration.
    Duration,
    /// An integer or text; typed `dyn`.
    IntOrString,
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
    /// Fields, sorted by `name`.
    pub fields: Vec<Field>,
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
    /// The static type of data read in this way.
    pub fn to_type(&self) -> Type {
        match self {
            Self::Dyn | Self::IntOrString => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Double => Type::Double,
            Self::String => Type::String,
            Self::Bytes => Type::Bytes,
            Self::Timestamp => Type::Timestamp,
            Self::Duration => Type::Duration,
            Self::List(list) => Type::List(Arc::new(list.element.to_type())),
            Self::Map(value) => Type::Map(Arc::new(Type::String), Arc::new(value.to_type())),
            Self::Object(object) => Type::Object(object.name.clone()),
        }
    }

    /// How elements are read, when this is the shape of a list.
    pub(super) fn element(&self) -> &Shape {
        match self {
            Self::List(list) => &list.element,
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
}

impl ObjectShape {
    /// An object type.
    pub fn new(name: impl Into<Name>, mut fields: Vec<Field>) -> Self {
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        Self { name: name.into(), fields }
    }

    /// The field that expressions call `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(at)
    }
}

impl Shape {
    /// `value`, read in this way.
    pub fn read<'a>(&'a self, value: &'a data::Value) -> Value<'a> {
        match value {
            data::Value::Null => Value::Null,
            data::Value::Bool(value) => Value::Bool(*value),
            data::Value::Int(value) => Value::Int(*value),
            data::Value::UInt(value) => Value::Uint(*value),
            data::Value::Float(value) => Value::Double(*value),
            data::Value::String(text) => Value::String(Text::Borrowed(text)),
            data::Value::List(items) => Value::List(List::tree(items, self)),
            data::Value::Map(map) => Value::Map(Map::tree(map, self)),
        }
    }

    /// The property of `map` that expressions call `name`.
    pub(super) fn field<'a>(&'a self, map: &'a data::Map, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Object(object) => {
                let field = object.field(name)?;
                map.get(&field.key).map(|value| field.shape.read(value))
            }
            _ => map.get(name).map(|value| self.value_of(name).read(value)),
        }
    }

    /// How the value of the JSON name `key` of a map or object is read.
    pub(super) fn value_of(&self, key: &str) -> &Shape {
        match self {
            Self::Map(value) => value,
            Self::Object(object) => {
                object.fields.iter().find(|field| &*field.key == key).map_or(&Shape::Dyn, |f| &f.shape)
            }
            _ => &Shape::Dyn,
        }
    }
}
