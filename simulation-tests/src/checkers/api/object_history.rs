//! The committed history as objects: the value of every key at every revision, as clients see it.
//!
//! Invariant: objects have no `apiVersion` and `kind` here, because items of lists have none
//! either; their `resourceVersion` is the revision that wrote them.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_store::{Batch, Entry};
use quorate_wire::stored::StoredRef;
use serde_json::Value;

use crate::api::STAMP;

/// An object at some revision.
pub(in crate::checkers) type Object = Arc<Value>;

/// One change of one object.
#[derive(Debug, Clone)]
pub(in crate::checkers) struct Change {
    pub(in crate::checkers) revision: u64,
    pub(in crate::checkers) key: String,
    pub(in crate::checkers) before: Option<Object>,
    pub(in crate::checkers) now: Option<Object>,
}

/// The history of all objects.
pub(in crate::checkers) struct ObjectHistory {
    pub(in crate::checkers) changes: Vec<Change>,
    versions: BTreeMap<String, Vec<(u64, Option<Object>)>>,
    stamps: BTreeMap<String, Vec<u64>>,
    newest: u64,
}

impl ObjectHistory {
    /// Decodes a whole history.
    pub(in crate::checkers) fn read(history: &[Arc<Batch>]) -> Result<Self, String> {
        let mut past = Self {
            changes: Vec::new(),
            versions: BTreeMap::new(),
            stamps: BTreeMap::new(),
            newest: 0,
        };
        for batch in history {
            past.newest = batch.revision.get();
            for event in batch.events.iter().filter(|event| event.key.starts_with(b"o/")) {
                let key = String::from_utf8_lossy(&event.key).into_owned();
                let now = event.current.as_ref().map(|entry| decode(&key, entry)).transpose()?;
                past.take(batch.revision.get(), key, now);
            }
        }
        Ok(past)
    }

    fn take(&mut self, revision: u64, key: String, now: Option<Object>) {
        let versions = self.versions.entry(key.clone()).or_default();
        let before = versions.last().and_then(|(_, object)| object.clone());
        versions.push((revision, now.clone()));
        let stamp = now.as_deref().and_then(stamp);
        if let Some(stamp) =
            stamp.filter(|stamp| before.as_deref().and_then(self::stamp) != Some(stamp))
        {
            self.stamps.entry(stamp.to_owned()).or_default().push(revision);
        }
        self.changes.push(Change { revision, key, before, now });
    }

    /// The newest revision.
    pub(in crate::checkers) fn newest(&self) -> u64 {
        self.newest
    }

    /// What a key held at a revision.
    pub(in crate::checkers) fn get(&self, key: &str, at: u64) -> Option<&Object> {
        let versions = self.versions.get(key)?;
        let after = versions.partition_point(|(revision, _)| *revision <= at);
        versions[..after].last()?.1.as_ref()
    }

    /// What was at a revision below a prefix, in the order of keys.
    pub(in crate::checkers) fn list<'a>(
        &'a self,
        prefix: &'a str,
        at: u64,
    ) -> impl Iterator<Item = (&'a str, &'a Object)> {
        let keys = self
            .versions
            .range(prefix.to_owned()..)
            .take_while(move |(key, _)| key.starts_with(prefix));
        keys.filter_map(move |(key, _)| Some((key.as_str(), self.get(key, at)?)))
    }

    /// Whether a key held something at any revision of this range that the caller looks for.
    pub(in crate::checkers) fn ever(
        &self,
        key: &str,
        range: (u64, u64),
        mut look: impl FnMut(Option<&Object>) -> bool,
    ) -> bool {
        if look(self.get(key, range.0)) {
            return true;
        }
        let versions = self.versions.get(key).map(Vec::as_slice).unwrap_or_default();
        let from = versions.partition_point(|(revision, _)| *revision <= range.0);
        let within = versions[from..].iter().take_while(|(revision, _)| *revision <= range.1);
        within.map(|(_, object)| object.as_ref()).any(look)
    }

    /// The revisions that brought a stamp into an object.
    pub(in crate::checkers) fn stamped(&self, stamp: &str) -> &[u64] {
        self.stamps.get(stamp).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every stamp with the first revision that has it.
    pub(in crate::checkers) fn stamps(&self) -> impl Iterator<Item = (&str, u64)> {
        self.stamps
            .iter()
            .filter_map(|(stamp, revisions)| Some((stamp.as_str(), *revisions.first()?)))
    }

    /// The change of a key at a revision.
    pub(in crate::checkers) fn change(&self, key: &str, at: u64) -> Option<&Change> {
        let from = self.changes.partition_point(|change| change.revision < at);
        self.changes[from..]
            .iter()
            .take_while(|change| change.revision == at)
            .find(|change| change.key == key)
    }
}

fn decode(key: &str, entry: &Entry) -> Result<Object, String> {
    let unreadable = |error: &dyn std::fmt::Display| {
        format!("history: {key} at {} is unreadable: {error}", entry.modified)
    };
    let stored = StoredRef::parse(&entry.value).map_err(|error| unreadable(&error))?;
    let object =
        stored.to_value("", "", entry.modified.get()).map_err(|error| unreadable(&error))?;
    let object = serde_json::to_value(object).map_err(|error| unreadable(&error))?;
    Ok(Arc::new(bare(object)))
}

/// The object without its type.
pub(in crate::checkers) fn bare(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// A text of an object's metadata; empty when it is absent.
pub(in crate::checkers) fn text<'o>(object: &'o Value, field: &str) -> &'o str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The stamp of the request that wrote an object last.
pub(in crate::checkers) fn stamp(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][STAMP].as_str()
}

/// Whether its deletion has begun.
pub(in crate::checkers) fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// An object's finalizers.
pub(in crate::checkers) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a selector for a label chooses the object.
pub(in crate::checkers) fn is_chosen(object: &Value, color: Option<&str>) -> bool {
    color.is_none_or(|color| object["metadata"]["labels"]["color"] == color)
}
