//! All purges that a state knows, and what is left of the past with them.
//!
//! Invariant: what was purged once stays purged, and purging it again changes nothing, so what comes
//! from a member that has done it and from one that has not becomes the same.

use std::sync::Arc;

use bytes::Bytes;

use crate::purge::{PURGES, Purge};
use crate::{Batch, Entry, Event, PastError, Revision, Snapshot};

/// A record and what it is under.
#[derive(Debug, Clone)]
pub struct KnownPurge {
    /// The key.
    pub key: Bytes,
    /// The transaction that has written it.
    pub modified: Revision,
    /// The record.
    pub purge: Arc<Purge>,
}

/// The purges of a state.
#[derive(Debug, Clone, Default)]
pub struct Purges {
    known: Vec<KnownPurge>,
}

impl Purges {
    /// Those of this state. A record that this release cannot read is left out.
    #[must_use]
    pub fn of(newest: &Snapshot) -> Self {
        Self::default().refreshed(newest).unwrap_or_default()
    }

    /// Up to which revision a purge may have taken what keys with this prefix held after a revision;
    /// `None` when all of that may be told. Reads only the records that are newer.
    #[must_use]
    pub fn since(newest: &Snapshot, prefix: &[u8], after: Revision) -> Option<Revision> {
        let newer = newest.range(PURGES, None).filter(|(_, entry)| entry.modified > after);
        let purges = newer.filter_map(|(_, entry)| Purge::decode(&entry.value));
        let of_prefix = purges.filter(|purge| purge.upto > after && purge.names_some_of(prefix));
        of_prefix.map(|purge| purge.upto).max()
    }

    /// Those of this state, when they are others than these.
    #[must_use]
    pub fn refreshed(&self, newest: &Snapshot) -> Option<Self> {
        let held = newest.range(PURGES, None);
        let same = |(known, (key, entry)): (&KnownPurge, (&Bytes, &Entry))| {
            known.key == *key && known.modified == entry.modified
        };
        if newest.count(PURGES, None) == self.known.len() && self.known.iter().zip(held).all(same) {
            return None;
        }
        let known = newest.range(PURGES, None).filter_map(|(key, entry)| self.known(key, entry));
        Some(Self { known: known.collect() })
    }

    fn known(&self, key: &Bytes, entry: &Entry) -> Option<KnownPurge> {
        let modified = entry.modified;
        let before =
            self.known.iter().find(|known| known.key == *key && known.modified == modified);
        if let Some(before) = before {
            return Some(before.clone());
        }
        let purge = Purge::decode(&entry.value);
        if purge.is_none() {
            tracing::error!(key = %key.escape_ascii(), "a purge cannot be read");
        }
        Some(KnownPurge { key: key.clone(), modified, purge: Arc::new(purge?) })
    }

    /// Takes over what happened to a record.
    pub fn follow(&mut self, event: &Event) {
        if !event.key.starts_with(PURGES) {
            return;
        }
        let found = event.current.as_ref().and_then(|entry| self.known(&event.key, entry));
        self.known.retain(|known| known.key != event.key);
        self.known.extend(found);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &KnownPurge> {
        self.known.iter()
    }

    /// The first one that has taken the version that a revision made of a key.
    #[must_use]
    pub fn taking(&self, key: &[u8], modified: Revision) -> Option<&KnownPurge> {
        let taking = self.known.iter().filter(|known| known.purge.takes(key, modified));
        taking.min_by_key(|known| known.modified)
    }

    /// What a get of a key is answered with that held this.
    ///
    /// # Errors
    /// [`PastError::Purged`].
    pub fn readable(&self, key: &[u8], entry: Option<Entry>) -> Result<Option<Entry>, PastError> {
        let taking = entry.as_ref().and_then(|entry| self.taking(key, entry.modified));
        match taking {
            Some(KnownPurge { purge, .. }) => {
                Err(PastError::Purged { upto: purge.upto, time_ms: purge.time_ms })
            }
            None => Ok(entry),
        }
    }

    /// The entry of a key as it may be told.
    #[must_use]
    pub fn without_purged(&self, key: &[u8], entry: Option<Entry>) -> Option<Entry> {
        let mut entry = entry?;
        if self.taking(key, entry.modified).is_some() {
            entry.value = Bytes::new();
        }
        Some(entry)
    }

    /// The transaction without the contents that were purged. Who changed what and when stays.
    #[must_use]
    pub fn purge_batch(&self, batch: &Arc<Batch>) -> Arc<Batch> {
        let is_taken = |key: &[u8], entry: &Option<Entry>| {
            entry.as_ref().is_some_and(|entry| self.taking(key, entry.modified).is_some())
        };
        let is_touched = |event: &Event| {
            is_taken(&event.key, &event.current) || is_taken(&event.key, &event.previous)
        };
        if self.known.is_empty() || !batch.events.iter().any(is_touched) {
            return Arc::clone(batch);
        }
        let told = |event: &Event| Event {
            key: event.key.clone(),
            current: self.without_purged(&event.key, event.current.clone()),
            previous: self.without_purged(&event.key, event.previous.clone()),
        };
        let events = batch.events.iter().map(told).collect();
        Arc::new(Batch { events, ..Batch::clone(batch) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn record(from: &str, upto: u64) -> Purge {
        Purge {
            from: Bytes::copy_from_slice(from.as_bytes()),
            to: format!("{from}\u{7f}").into(),
            upto: Revision::new(upto),
            kept: BTreeMap::new(),
            time_ms: 0,
            user: String::new(),
            reason: String::new(),
        }
    }

    fn entry(value: &str, modified: u64) -> Entry {
        let modified = Revision::new(modified);
        Entry { value: Bytes::copy_from_slice(value.as_bytes()), created: modified, modified }
    }

    fn state(records: &[(&'static str, Purge, u64)]) -> Snapshot {
        let entries = records.iter().map(|(key, purge, modified)| {
            let modified = Revision::new(*modified);
            let entry = Entry { value: purge.encode(), created: modified, modified };
            (Bytes::from_static(key.as_bytes()), entry)
        });
        Snapshot::of(Revision::new(100), entries)
    }

    #[test]
    fn a_state_is_read_again_when_its_records_change() {
        let one = state(&[("u/1", record("o/a", 5), 6)]);
        let purges = Purges::of(&one);
        assert!(purges.refreshed(&one).is_none());
        let two = state(&[("u/1", record("o/a", 5), 6), ("u/2", record("o/b", 8), 9)]);
        let both = purges.refreshed(&two).unwrap();
        assert_eq!(both.iter().count(), 2);
        let check = |prefix: &[u8], after: u64, expect: Option<u64>| {
            let found = Purges::since(&two, prefix, Revision::new(after));
            assert_eq!(found, expect.map(Revision::new), "{after}");
        };
        check(b"o/", 4, Some(8));
        check(b"o/", 7, Some(8));
        check(b"o/", 8, None);
        check(b"o/a", 4, Some(5));
        check(b"o/a", 5, None);
        check(b"o/c", 0, None);
        assert_eq!(both.refreshed(&state(&[])).unwrap().iter().count(), 0);
        let rewritten = state(&[("u/1", record("o/c", 5), 7)]);
        let newer = purges.refreshed(&rewritten).unwrap();
        assert!(newer.taking(b"o/c", Revision::new(5)).is_some());
    }

    #[test]
    fn a_transaction_loses_contents_and_nothing_else() {
        let purges = Purges::of(&state(&[("u/1", record("o/a", 5), 6)]));
        let event = |key: &str, current: Option<Entry>, previous: Option<Entry>| Event {
            key: Bytes::copy_from_slice(key.as_bytes()),
            current,
            previous,
        };
        let batch = |events: Vec<Event>| {
            let (revision, origin) = (Revision::new(9), Bytes::from_static(b"who"));
            Arc::new(Batch { revision, time_ms: 1, events: events.into(), origin })
        };
        let check = |events: Vec<Event>, expect: Vec<Event>| {
            let told = purges.purge_batch(&batch(events));
            assert_eq!(told, batch(expect));
            assert_eq!(purges.purge_batch(&told), told);
        };
        check(
            vec![
                event("o/a1", Some(entry("new", 6)), Some(entry("old", 5))),
                event("o/a2", None, Some(entry("old", 4))),
                event("o/b", Some(entry("new", 3)), Some(entry("old", 2))),
            ],
            vec![
                event("o/a1", Some(entry("new", 6)), Some(entry("", 5))),
                event("o/a2", None, Some(entry("", 4))),
                event("o/b", Some(entry("new", 3)), Some(entry("old", 2))),
            ],
        );
        let untouched = batch(vec![event("o/b", None, None)]);
        assert!(Arc::ptr_eq(&purges.purge_batch(&untouched), &untouched));
    }
}
