//! Maps: made by an expression, constants of the program, or read in place from data; objects with declared fields are maps of
//! which only those fields are seen.

use std::sync::Arc;

use quorate_meta as data;

use super::json::View;
use super::{ObjectShape, Shape, Table, Text, Value};
use crate::eval::EvalError;

/// A map or an object.
#[derive(Debug, Clone)]
pub struct Map<'a>(MapRepr<'a>);

#[derive(Debug, Clone)]
enum MapRepr<'a> {
    Shared(Arc<Table<'a>>),
    Borrowed(&'a Table<'a>),
    Tree(&'a data::Map, &'a Shape),
    Json(Arc<View<'a>>),
}

/// Goes through the entries of a map.
pub struct MapIter<'m, 'a>(Entries<'m, 'a>);

enum Entries<'m, 'a> {
    Cloned(std::slice::Iter<'m, (Value<'a>, Value<'a>)>),
    Lent(std::slice::Iter<'a, (Value<'a>, Value<'a>)>),
    Tree(Box<dyn Iterator<Item = (&'a str, &'a data::Value)> + 'a>, &'a Shape),
    Json(Box<dyn Iterator<Item = (Text<'a>, &'a [u8])> + 'a>, &'a Shape),
}

impl<'a> Map<'a> {
    /// Entries that the program or another value holds.
    pub fn borrowed(table: &'a Table<'a>) -> Self {
        Self(MapRepr::Borrowed(table))
    }

    /// Data, read as `shape` says.
    pub(super) fn tree(map: &'a data::Map, shape: &'a Shape) -> Self {
        Self(MapRepr::Tree(map, shape))
    }

    /// JSON text, read as its view says.
    pub(super) fn json(view: View<'a>) -> Self {
        Self(MapRepr::Json(Arc::new(view)))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            MapRepr::Shared(table) => table.len(),
            MapRepr::Borrowed(table) => table.len(),
            MapRepr::Tree(map, _) => map.len(),
            MapRepr::Json(view) => view.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of `key`; a number of another type finds a key of the same value.
    ///
    /// # Errors
    /// When the map is declared by a schema and the key is no text.
    pub fn find(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, EvalError> {
        match (&self.0, key) {
            (MapRepr::Tree(..) | MapRepr::Json(_), Value::String(key)) => Ok(self.get_str(key)),
            (MapRepr::Tree(..) | MapRepr::Json(_), _) if self.is_declared() => {
                Err(EvalError::no_such_overload())
            }
            _ => Ok(self.get(key)),
        }
    }

    /// The value of `key`; a number of another type finds a key of the same value.
    pub fn get(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match &self.0 {
            MapRepr::Shared(table) => table.get(key).cloned(),
            MapRepr::Borrowed(table) => table.get(key).map(Value::lent),
            MapRepr::Tree(map, shape) => shape.field(map, key.as_str()?),
            MapRepr::Json(view) => view.field(key.as_str()?),
        }
    }

    /// The value of the text `key`.
    pub fn get_str(&self, key: &str) -> Option<Value<'a>> {
        match &self.0 {
            MapRepr::Tree(map, shape) => shape.field(map, key),
            MapRepr::Json(view) => view.field(key),
            _ => self.get(&Value::String(Text::Borrowed(key))),
        }
    }

    /// Name of the object type that an expression built.
    pub fn type_name(&self) -> Option<&str> {
        match &self.0 {
            MapRepr::Shared(table) => table.type_name(),
            MapRepr::Borrowed(table) => table.type_name(),
            MapRepr::Tree(..) | MapRepr::Json(_) => None,
        }
    }

    /// The entries.
    pub fn iter(&self) -> MapIter<'_, 'a> {
        MapIter(match &self.0 {
            MapRepr::Shared(table) => Entries::Cloned(table.entries().iter()),
            MapRepr::Borrowed(table) => Entries::Lent(table.entries().iter()),
            MapRepr::Tree(map, shape) => Entries::Tree(Box::new(map.iter()), shape),
            MapRepr::Json(view) => Entries::Json(Box::new(view.members()), view.shape()),
        })
    }

    /// Whether a schema declares this map or object.
    pub(super) fn is_declared(&self) -> bool {
        self.shape().is_some_and(|shape| !matches!(shape, Shape::Dyn))
    }

    /// How data is read as this map.
    fn shape(&self) -> Option<&'a Shape> {
        match &self.0 {
            MapRepr::Tree(_, shape) => Some(shape),
            MapRepr::Json(view) => Some(view.shape()),
            _ => None,
        }
    }

    /// The data that this reads, and how.
    #[inline]
    pub(crate) const fn as_tree(&self) -> Option<(&'a data::Map, &'a Shape)> {
        match &self.0 {
            MapRepr::Tree(map, shape) => Some((map, shape)),
            _ => None,
        }
    }

    /// The JSON text that this reads.
    pub(super) fn as_json(&self) -> Option<&View<'a>> {
        match &self.0 {
            MapRepr::Json(view) => Some(view),
            _ => None,
        }
    }

    /// The object type that a schema declares.
    pub(super) fn object(&self) -> Option<&'a ObjectShape> {
        match self.shape() {
            Some(Shape::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// Adds an entry; a map that nothing else holds grows in place. Answers whether the key was there before.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> bool {
        if !matches!(self.0, MapRepr::Shared(_)) {
            let mut table = Table::new();
            for (key, value) in self.iter() {
                table.insert(key, value);
            }
            self.0 = MapRepr::Shared(Arc::new(table));
        }
        match &mut self.0 {
            MapRepr::Shared(table) => Arc::make_mut(table).insert(key, value).is_some(),
            _ => false,
        }
    }

    /// This map, read from where it is kept for the time `'a`.
    pub(super) fn lent(&'a self) -> Self {
        match &self.0 {
            MapRepr::Shared(table) => Self(MapRepr::Borrowed(table)),
            repr => Self(repr.clone()),
        }
    }
}

impl<'a> From<Table<'a>> for Map<'a> {
    fn from(table: Table<'a>) -> Self {
        Self(MapRepr::Shared(Arc::new(table)))
    }
}

impl<'a> Iterator for MapIter<'_, 'a> {
    type Item = (Value<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::Cloned(entries) => entries.next().cloned(),
            Entries::Lent(entries) => entries.next().map(|(key, value)| (key.lent(), value.lent())),
            Entries::Tree(entries, Shape::Object(object)) => entries.find_map(|(key, value)| {
                let field = object.field_of_key(key)?;
                Some((Value::String(Text::Borrowed(&field.name)), field.shape.read(value)))
            }),
            Entries::Tree(entries, shape) => {
                let (key, value) = entries.next()?;
                Some((Value::String(Text::Borrowed(key)), shape.element().read(value)))
            }
            Entries::Json(entries, Shape::Object(object)) => entries.find_map(|(key, value)| {
                let field = object.field_of_key(&key)?;
                Some((Value::String(Text::Borrowed(&field.name)), field.shape.read_json(value)))
            }),
            Entries::Json(entries, shape) => {
                let (key, value) = entries.next()?;
                Some((Value::String(key), shape.element().read_json(value)))
            }
        }
    }
}
