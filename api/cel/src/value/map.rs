//! Maps: made by an expression, constants of the program, or read in place from data; objects with declared fields are maps of
//! which only those fields are seen.

use std::sync::Arc;

use quorate_meta as data;

use super::{Shape, Text, Value};

/// A map or an object.
#[derive(Debug, Clone)]
pub struct Map<'a>(Repr<'a>);

#[derive(Debug, Clone)]
enum Repr<'a> {
    Shared(Arc<Table<'a>>),
    Borrowed(&'a Table<'a>),
    Tree { map: &'a data::Map, shape: &'a Shape },
}

/// Entries made by an expression, in order of insertion.
#[derive(Debug, Clone, Default)]
pub struct Table<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
}

/// Goes through the entries of a map.
#[derive(Debug)]
pub struct MapIter<'m, 'a> {
    map: &'m Map<'a>,
    next: usize,
}

impl<'a> Map<'a> {
    /// Entries that the program or another value holds.
    pub fn borrowed(table: &'a Table<'a>) -> Self {
        Self(Repr::Borrowed(table))
    }

    /// Data, read as `shape` says.
    pub(super) fn tree(map: &'a data::Map, shape: &'a Shape) -> Self {
        Self(Repr::Tree { map, shape })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Shared(table) => table.entries.len(),
            Repr::Borrowed(table) => table.entries.len(),
            Repr::Tree { map, .. } => map.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of `key`; a number of another type finds a key of the same value.
    pub fn get(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match &self.0 {
            Repr::Shared(table) => table.get(key).cloned(),
            Repr::Borrowed(table) => table.get(key).cloned(),
            Repr::Tree { map, shape } => shape.field(map, key.as_str()?),
        }
    }

    /// The value of the text `key`.
    pub fn get_str(&self, key: &str) -> Option<Value<'a>> {
        match &self.0 {
            Repr::Shared(table) => table.get(&Value::String(Text::Borrowed(key))).cloned(),
            Repr::Borrowed(table) => table.get(&Value::String(Text::Borrowed(key))).cloned(),
            Repr::Tree { map, shape } => shape.field(map, key),
        }
    }

    /// The entries.
    pub fn iter(&self) -> MapIter<'_, 'a> {
        MapIter { map: self, next: 0 }
    }

    /// Name of the object type, when this is an object with declared fields.
    pub fn object_type(&self) -> Option<&'a str> {
        match &self.0 {
            Repr::Tree { shape: Shape::Object(object), .. } => Some(&object.name),
            _ => None,
        }
    }
}

impl<'a> From<Table<'a>> for Map<'a> {
    fn from(table: Table<'a>) -> Self {
        Self(Repr::Shared(Arc::new(table)))
    }
}

impl<'a> Iterator for MapIter<'_, 'a> {
    type Item = (Value<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        self.next += 1;
        match &self.map.0 {
            Repr::Shared(table) => table.entries.get(at).cloned(),
            Repr::Borrowed(table) => table.entries.get(at).cloned(),
            Repr::Tree { map, shape } => {
                let (key, value) = map.iter().nth(at)?;
                Some((Value::String(Text::Borrowed(key)), shape.value_of(key).read(value)))
            }
        }
    }
}

impl<'a> Table<'a> {
    /// Without entries.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds an entry; one with the same key (of the same type) is replaced and returned.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> Option<Value<'a>> {
        if let Some((_, old)) = self.entries.iter_mut().find(|(other, _)| same_key(other, &key)) {
            return Some(std::mem::replace(old, value));
        }
        self.entries.push((key, value));
        None
    }

    /// The value of `key`; a number of another type finds a key of the same value.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let exact = self.entries.iter().find(|(other, _)| same_key(other, key));
        exact.map(|(_, value)| value)
    }
}

fn same_key(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Uint(left), Value::Uint(right)) => left == right,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        _ => false,
    }
}
