//! Paths into a tree: slices of steps; maps are entered by key, lists by index.
//!
//! Paths in messages are `status::Path`; JSON pointers are part of patches.

use super::{Map, Value};

/// One step into a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// Into a map.
    Key(&'a str),
    /// Into a list, counted from zero.
    Index(usize),
}

impl<'a> From<&'a str> for PathStep<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for PathStep<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Value {
    /// The value below `keys`, entering maps only.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The value below `keys`, to change.
    pub fn at_mut(&mut self, keys: &[&str]) -> Option<&mut Value> {
        keys.iter().try_fold(self, |value, key| value.get_mut(key))
    }

    /// The text below `keys`.
    pub fn str_at(&self, keys: &[&str]) -> Option<&str> {
        self.at(keys)?.as_str()
    }

    /// The value below mixed steps.
    pub fn lookup(&self, steps: &[PathStep<'_>]) -> Option<&Value> {
        steps.iter().try_fold(self, |value, step| match step {
            PathStep::Key(key) => value.get(key),
            PathStep::Index(index) => value.as_list()?.get(*index),
        })
    }

    /// Sets the value below `keys`, creating maps where there is nothing or `null`. Returns false,
    /// with nothing set, when another value is in the way or `keys` is empty.
    pub fn set_at(&mut self, keys: &[&str], value: impl Into<Value>) -> bool {
        let Some((last, parents)) = keys.split_last() else {
            return false;
        };
        if self.is_null() {
            *self = Value::Map(Map::new());
        }
        let parent = self
            .as_map_mut()
            .and_then(|map| parents.iter().try_fold(map, |map, key| map.map_mut(key)));
        let Some(parent) = parent else { return false };
        parent.insert(*last, value);
        true
    }

    /// Removes the value below `keys`; parents stay, even when they become empty.
    pub fn remove_at(&mut self, keys: &[&str]) -> Option<Value> {
        let (last, parents) = keys.split_last()?;
        self.at_mut(parents)?.as_map_mut()?.remove(last)
    }
}
