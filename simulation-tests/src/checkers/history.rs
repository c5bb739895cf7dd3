//! The committed history, indexed: the value of every key at every revision, and the revision of
//! every value.
//!
//! Invariants: revisions follow each other, from 1 on or from where the history began anew; every
//! event follows from the one before of its key; where clients never write a value twice, no value
//! is written by two revisions (that would be a transaction applied twice).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Event, Operation, Revision, State, Txn};

/// Characters of a value that a message has.
const BRIEF: usize = 40;

/// The indexed history.
pub(super) struct History<'a> {
    /// The revision before the first, and what there was then.
    base: Revision,
    entries: BTreeMap<Bytes, Entry>,
    batches: &'a [Arc<Batch>],
    keys: BTreeMap<Bytes, Vec<(Revision, Option<Entry>)>>,
    values: BTreeMap<Bytes, Revision>,
}

impl<'a> History<'a> {
    /// Reads a whole history, from revision 1, of clients that never write a value twice.
    pub(super) fn new(batches: &'a [Arc<Batch>]) -> Result<Self, String> {
        Self::after(Revision::ZERO, BTreeMap::new(), batches)
    }

    /// The same for a history that begins anew after a revision, with these entries.
    pub(super) fn after(
        base: Revision,
        entries: BTreeMap<Bytes, Entry>,
        batches: &'a [Arc<Batch>],
    ) -> Result<Self, String> {
        let history = Self::read(base, entries, batches)?;
        let mut values: BTreeMap<&Bytes, Revision> = BTreeMap::new();
        for batch in batches {
            // What the system writes for itself under `s/` need not be new.
            let written = batch.events.iter().filter(|event| !event.key.starts_with(b"s/"));
            for entry in written.filter_map(|event| event.current.as_ref()) {
                let at = batch.revision;
                let other = *values.entry(&entry.value).or_insert(at);
                if other != at {
                    return Err(format!(
                        "history: the transaction at {at} was applied before, at {other}"
                    ));
                }
            }
        }
        Ok(history)
    }

    /// The same where values may come again.
    pub(super) fn of_any_values(batches: &'a [Arc<Batch>]) -> Result<Self, String> {
        Self::read(Revision::ZERO, BTreeMap::new(), batches)
    }

    fn read(
        base: Revision,
        entries: BTreeMap<Bytes, Entry>,
        batches: &'a [Arc<Batch>],
    ) -> Result<Self, String> {
        let version =
            |(key, entry): (&Bytes, &Entry)| (key.clone(), vec![(base, Some(entry.clone()))]);
        let keys = entries.iter().map(version).collect();
        let mut history = Self { base, entries, batches, keys, values: BTreeMap::new() };
        for (batch, expected) in batches.iter().zip(base.get() + 1..) {
            if batch.revision.get() != expected {
                return Err(format!(
                    "history: revision {} comes where {expected} should",
                    batch.revision
                ));
            }
            for event in batch.events.iter() {
                history.take(batch.revision, event)?;
            }
        }
        Ok(history)
    }

    /// The revision before the first.
    pub(super) fn base(&self) -> Revision {
        self.base
    }

    /// The newest revision.
    pub(super) fn newest(&self) -> Revision {
        self.batches.last().map_or(self.base, |batch| batch.revision)
    }

    /// The transaction at a revision.
    pub(super) fn batch(&self, at: Revision) -> Option<&Batch> {
        let index = usize::try_from(at.get().checked_sub(self.base.get() + 1)?).ok()?;
        self.batches.get(index).map(|batch| &**batch)
    }

    /// What a key held at a revision.
    pub(super) fn get(&self, key: &[u8], at: Revision) -> Option<&Entry> {
        let versions = self.keys.get(key)?;
        let after = versions.partition_point(|(revision, _)| *revision <= at);
        versions[..after].last()?.1.as_ref()
    }

    /// Everything that there was at a revision.
    pub(super) fn state(&self, at: Revision) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.keys.keys().filter_map(move |key| Some((key, self.get(key, at)?)))
    }

    /// Which revision wrote a value.
    pub(super) fn written(&self, value: &[u8]) -> Option<Revision> {
        self.values.get(value).copied()
    }

    fn take(&mut self, at: Revision, event: &Event) -> Result<(), String> {
        let key = String::from_utf8_lossy(&event.key).into_owned();
        let before = self.get(&event.key, at);
        if before != event.previous.as_ref() {
            let (said, previous) = (brief(event.previous.as_ref()), brief(before));
            return Err(format!(
                "history: the event of {key} at {at} follows {said}, and before it was {previous}"
            ));
        }
        if let Some(entry) = &event.current {
            let created = before.map_or(at, |entry| entry.created);
            if (entry.modified, entry.created) != (at, created) {
                return Err(format!("history: the entry of {key} at {at} has wrong revisions"));
            }
            self.values.insert(entry.value.clone(), at);
        }
        self.keys.entry(event.key.clone()).or_default().push((at, event.current.clone()));
        Ok(())
    }

    /// Applies the history to a fresh state, and calls `look` at every revision from the one before
    /// the first.
    pub(super) fn replay(&self, mut look: impl FnMut(&State)) {
        let entries = self.entries.iter().map(|(key, entry)| (key.clone(), entry.clone()));
        let mut state = State::restore(self.base, 0, entries);
        look(&state);
        for batch in self.batches {
            let mut operations: Vec<Operation> = batch.events.iter().map(operation).collect();
            if operations.is_empty() {
                operations.push(Operation::Delete { key: Bytes::from_static(b"no such key") });
            }
            state.apply(batch.time_ms, &Txn { conditions: vec![], operations, ..Txn::default() });
            look(&state);
        }
    }
}

/// What an entry is, for people.
fn brief(entry: Option<&Entry>) -> String {
    entry.map_or_else(
        || "nothing".to_owned(),
        |Entry { value, created, modified }| {
            let value: String = String::from_utf8_lossy(value).chars().take(BRIEF).collect();
            format!("{value:?} of {modified}, created at {created}")
        },
    )
}

fn operation(event: &Event) -> Operation {
    let key = event.key.clone();
    match &event.current {
        Some(entry) => Operation::Put { key, value: entry.value.clone() },
        None => Operation::Delete { key },
    }
}

/// Where two histories differ first.
pub(super) fn difference(one: &[Arc<Batch>], other: &[Arc<Batch>]) -> Option<String> {
    if let Some((first, _)) = one.iter().zip(other).find(|(first, second)| first != second) {
        return Some(format!("at revision {}", first.revision));
    }
    (one.len() != other.len()).then(|| format!("{} and {} revisions", one.len(), other.len()))
}
