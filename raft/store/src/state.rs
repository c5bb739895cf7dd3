//! The state machine: decides a transaction and applies it to the map, as a pure function of state and command.
//!
//! Invariants: the same commands in the same order give the same state, outcomes and batches on every node; a committed
//! transaction with operations takes exactly the next revision; time never goes back. This file knows no clocks, disks or
//! watchers, and it does not enforce [`crate::Limits`] (whoever proposes does).

use std::sync::Arc;

use bytes::Bytes;

use crate::snapshot::Objects;
use crate::{Batch, Condition, Entry, Event, Operation, Outcome, Revision, Snapshot, Txn};

/// Every live key and the counters that go with them. Cloning is cheap: the map is shared until one copy changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    revision: Revision,
    time_ms: u64,
    size: u64,
    objects: Objects,
}

/// What [`State::apply`] decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The answer for the proposer.
    pub outcome: Outcome,
    /// The changes, when the transaction committed and had operations. Goes to history and watchers.
    pub batch: Option<Arc<Batch>>,
}

impl State {
    /// The empty store at [`Revision::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A state read back from disk or from a snapshot of another node. Keys in ascending order load fastest.
    #[must_use]
    pub fn restore(revision: Revision, time_ms: u64, entries: impl IntoIterator<Item = (Bytes, Entry)>) -> Self {
        let mut size = 0;
        let mut objects = Objects::new();
        for (key, entry) in entries {
            size += footprint(&key, &entry);
            if let Some(replaced) = objects.insert(key.clone(), entry) {
                size -= footprint(&key, &replaced);
            }
        }
        Self { revision, time_ms, size, objects }
    }

    /// Decides the transaction and carries it out when it commits. `time_ms` is the proposer's clock, milliseconds since
    /// the Unix epoch; it is raised to the newest time seen so far.
    pub fn apply(&mut self, time_ms: u64, txn: &Txn) -> Applied {
        self.time_ms = self.time_ms.max(time_ms);
        if let Some(outcome) = self.conflict(&txn.conditions) {
            return Applied { outcome, batch: None };
        }
        if txn.operations.is_empty() {
            return Applied { outcome: Outcome::Committed { revision: self.revision }, batch: None };
        }
        self.revision = self.revision.next();
        let events = txn.operations.iter().filter_map(|operation| self.carry_out(operation)).collect();
        let batch = Batch { revision: self.revision, time_ms: self.time_ms, events };
        Applied { outcome: Outcome::Committed { revision: self.revision }, batch: Some(Arc::new(batch)) }
    }

    /// The state as readers see it; stays as it is while this one moves on.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.revision, self.objects.clone())
    }

    /// The newest transaction's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The newest time that came with a command, milliseconds since the Unix epoch.
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// Bytes of all live keys and values.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many keys are live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether no key is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// What the key holds now.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.objects.get(key)
    }

    fn conflict(&self, conditions: &[Condition]) -> Option<Outcome> {
        conditions.iter().enumerate().find_map(|(index, condition)| {
            let current = self.objects.get(condition.key().as_ref());
            let holds = match condition {
                Condition::Modified { revision, .. } => {
                    current.map_or(Revision::ZERO, |entry| entry.modified) == *revision
                }
                Condition::Exists { .. } => current.is_some(),
            };
            (!holds).then(|| Outcome::Conflict { condition: index, current: current.cloned(), revision: self.revision })
        })
    }

    fn carry_out(&mut self, operation: &Operation) -> Option<Event> {
        match operation {
            Operation::Put { key, value } => Some(self.put(key, value)),
            Operation::Delete { key } => self.delete(key),
        }
    }

    fn put(&mut self, key: &Bytes, value: &Bytes) -> Event {
        let created = self.objects.get(key.as_ref()).map_or(self.revision, |entry| entry.created);
        let current = Entry { value: value.clone(), created, modified: self.revision };
        self.size += footprint(key, &current);
        let previous = self.objects.insert(key.clone(), current.clone());
        if let Some(previous) = &previous {
            self.size -= footprint(key, previous);
        }
        Event { key: key.clone(), current: Some(current), previous }
    }

    fn delete(&mut self, key: &Bytes) -> Option<Event> {
        let previous = self.objects.remove(key.as_ref())?;
        self.size -= footprint(key, &previous);
        Some(Event { key: key.clone(), current: None, previous: Some(previous) })
    }
}

fn footprint(key: &Bytes, entry: &Entry) -> u64 {
    (key.len() + entry.value.len()) as u64
}
