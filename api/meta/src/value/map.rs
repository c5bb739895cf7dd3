//! A JSON object as a vector sorted by key bytes: compact, cache-friendly, and in canonical order
//! for writing. Short keys, such as the names of almost all fields, are stored inline.
//!
//! Invariant: keys strictly ascend. Single inserts are O(n); build large maps with
//! `Map::from_entries`, which sorts once, and combine two with `Map::merge_with` and its like.

use std::convert::Infallible;

use smol_str::SmolStr;

use super::Value;

/// The entries of a JSON object in key order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<(SmolStr, Value)>,
}

impl Map {
    /// An empty map.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// An empty map with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
    }

    /// Sorts entries given in any order. Of entries with the same key the last one stays; the keys
    /// that appeared more than once are returned in order, once each.
    pub fn from_entries(mut entries: Vec<(SmolStr, Value)>) -> (Self, Vec<SmolStr>) {
        let sorted = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if sorted {
            return (Self { entries }, Vec::new());
        }
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        let mut duplicates: Vec<SmolStr> = Vec::new();
        entries.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = std::mem::take(&mut later.1);
                if duplicates.last() != Some(&kept.0) {
                    duplicates.push(kept.0.clone());
                }
            }
            same
        });
        (Self { entries }, duplicates)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether `key` is present.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value of `key`, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.find(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// The text of `key`, when it is a string.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Sets `key` to `value`; the value it had before is returned.
    pub fn insert(&mut self, key: impl Into<SmolStr>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// How many entries come after `key`: what moves when it is inserted or removed.
    pub fn len_after(&self, key: &str) -> usize {
        match self.find(key) {
            Ok(at) => self.entries.len() - at - 1,
            Err(at) => self.entries.len() - at,
        }
    }

    /// The value of `key`, set to `default()` first when it is absent.
    pub fn get_or_insert_with(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (key.into(), default()));
                at
            }
        };
        &mut self.entries[at].1
    }

    /// The map at `key`, made when it is absent or `null`; `None` when something else is there.
    pub fn map_mut(&mut self, key: &str) -> Option<&mut Map> {
        let value = self.get_or_insert_with(key, || Value::Map(Map::new()));
        if value.is_null() {
            *value = Value::Map(Map::new());
        }
        value.as_map_mut()
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// Merges `changes` in one pass over both. `change` gets a key, its old value and the change,
    /// and returns its new value; `None` removes it.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn merge_with<E>(
        &mut self,
        changes: Self,
        mut change: impl FnMut(&str, Option<Value>, Value) -> Result<Option<Value>, E>,
    ) -> Result<(), E> {
        let mut before = std::mem::take(&mut self.entries).into_iter().peekable();
        let mut merged = Vec::with_capacity(before.len() + changes.len());
        for (key, asked) in changes {
            while let Some(kept) = before.next_if(|(other, _)| *other < key) {
                merged.push(kept);
            }
            let old = before.next_if(|(other, _)| *other == key).map(|(_, value)| value);
            if let Some(new) = change(&key, old, asked)? {
                merged.push((key, new));
            }
        }
        merged.extend(before);
        self.entries = merged;
        Ok(())
    }

    /// Adds entries in one pass over both; they replace existing ones.
    pub fn merge(&mut self, others: Self) {
        let merged = self.merge_with(others, |_, _, other| Ok::<_, Infallible>(Some(other)));
        merged.unwrap_or_else(|never| match never {});
    }

    /// Adds those of the entries whose keys are absent, in one pass over both.
    pub fn add_missing(&mut self, others: Self) {
        let merged = self
            .merge_with(others, |_, own, other| Ok::<_, Infallible>(Some(own.unwrap_or(other))));
        merged.unwrap_or_else(|never| match never {});
    }

    /// Entries in key order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&str, &Value)> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Entries in key order, values to change.
    pub fn iter_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = (&str, &mut Value)> + DoubleEndedIterator {
        self.entries.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// Values in key order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Values in key order, to change.
    pub fn values_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = &mut Value> + DoubleEndedIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        match self.entries.last() {
            None => Err(0),
            Some((last, _)) if last.as_str() < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(other, _)| other.as_str().cmp(key)),
        }
    }
}

impl IntoIterator for Map {
    type Item = (SmolStr, Value);
    type IntoIter = std::vec::IntoIter<(SmolStr, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<K: Into<SmolStr>, V: Into<Value>> FromIterator<(K, V)> for Map {
    /// Later entries win over earlier ones of the same key.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::from_entries(
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect(),
        )
        .0
    }
}

impl<K: Into<SmolStr>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Map {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
