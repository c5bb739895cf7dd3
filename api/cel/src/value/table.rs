//! Entries of a map that an expression made.
//!
//! Invariants: keys that are equal and of one type stand once; the order is that of insertion. Beyond a few entries a hash
//! table finds them.

use std::collections::HashMap;

use super::Value;
use super::key::Key;
use crate::ast::Name;

/// So many entries are searched one by one.
const SEARCHED_ENTRIES: usize = 8;

/// Entries, in order of insertion.
#[derive(Debug, Clone, Default)]
pub struct Table<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    places: HashMap<Key<'a>, usize>,
    /// The object type that was built, when it is no plain map.
    type_name: Option<Name>,
}

impl<'a> Table<'a> {
    /// Without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Without entries, of an object type.
    pub fn of_type(type_name: Name) -> Self {
        Self { type_name: Some(type_name), ..Self::default() }
    }

    /// Name of the object type that was built.
    pub fn type_name(&self) -> Option<&str> {
        self.type_name.as_deref()
    }

    /// The entries, in order of insertion.
    pub fn entries(&self) -> &[(Value<'a>, Value<'a>)] {
        &self.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry; the value of the same key (of the same type) is replaced and returned.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> Option<Value<'a>> {
        if let Some(at) = self.place(&key) {
            return Some(std::mem::replace(&mut self.entries[at].1, value));
        }
        if let Some(hashed) = Key::of(&key)
            && !self.places.is_empty()
        {
            self.places.insert(hashed, self.entries.len());
        }
        self.entries.push((key, value));
        if self.places.is_empty() && self.entries.len() > SEARCHED_ENTRIES {
            let keys = self.entries.iter().enumerate();
            self.places = keys.filter_map(|(at, (key, _))| Some((Key::of(key)?, at))).collect();
        }
        None
    }

    /// The value of `key`; a number of another type finds a key of the same value.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let at = self.place(key).or_else(|| self.place_of_same_number(key))?;
        Some(&self.entries[at].1)
    }

    fn place(&self, key: &Value<'_>) -> Option<usize> {
        let Some(hashed) = Key::of(key) else {
            return self.entries.iter().position(|(other, _)| same_other_key(other, key));
        };
        self.place_of(&hashed)
    }

    fn place_of(&self, key: &Key<'_>) -> Option<usize> {
        if !self.places.is_empty() {
            let places: &HashMap<Key<'_>, usize> = &self.places;
            return places.get(key).copied();
        }
        self.entries.iter().position(|(other, _)| Key::of(other).is_some_and(|other| other == *key))
    }

    fn place_of_same_number(&self, key: &Value<'_>) -> Option<usize> {
        Key::same_number(key).into_iter().flatten().find_map(|key| self.place_of(&key))
    }
}

/// Whether two keys of the rarer types are the same.
fn same_other_key(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Type(left), Value::Type(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Opaque(left), Value::Opaque(_)) => left.equals(right).unwrap_or(false),
        _ => false,
    }
}
