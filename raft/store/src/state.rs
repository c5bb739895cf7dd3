//! The state machine: decides a transaction and applies it to the map, as a pure function of state
//! and command.
//!
//! Invariants: the same commands in the same order give the same state, outcomes and batches on
//! every node; a committed transaction with operations takes exactly the next revision; time never
//! goes back. This file knows no clocks, disks or watchers, and it does not enforce
//! [`crate::Limits`] (the proposing leader does).

use std::sync::Arc;

use bytes::Bytes;

use crate::snapshot::Objects;
use crate::{Batch, Condition, Entry, Event, Operation, Outcome, Revision, Snapshot, Txn};

/// Every live key and the counters that go with them. Cloning is cheap: the map is shared until one
/// copy changes.
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
    /// The changes, when the transaction committed and had operations. Goes to history and
    /// watchers.
    pub batch: Option<Arc<Batch>>,
}

impl State {
    /// The empty store at [`Revision::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A state read back from disk or from a snapshot of another node. Keys in ascending order load
    /// fastest.
    #[must_use]
    pub fn restore(
        revision: Revision,
        time_ms: u64,
        entries: impl IntoIterator<Item = (Bytes, Entry)>,
    ) -> Self {
        let objects: Objects = entries.into_iter().collect();
        let size = objects.iter().map(|(key, entry)| footprint(key, entry)).sum();
        Self { revision, time_ms, size, objects }
    }

    /// Has a key hold what it held after this event, and gives what it held until now. How a state
    /// is rebuilt from its history: events come in their order, and [`State::arrived_at`] says where
    /// they have led to.
    pub fn replay(&mut self, event: &Event) -> Option<Entry> {
        let replaced = match &event.current {
            Some(entry) => {
                self.size += footprint(&event.key, entry);
                self.objects.insert(event.key.clone(), entry.clone())
            }
            None => self.objects.remove(event.key.as_ref()),
        };
        self.size -= replaced.as_ref().map_or(0, |entry| footprint(&event.key, entry));
        replaced
    }

    /// This state under the revision and the clock that its history has led to.
    #[must_use]
    pub fn arrived_at(self, revision: Revision, time_ms: u64) -> Self {
        Self { revision, time_ms, ..self }
    }

    /// Decides the transaction and carries it out when it commits. `time_ms` is the proposer's
    /// clock, milliseconds since the Unix epoch; it is raised to the newest time seen so far.
    pub fn apply(&mut self, time_ms: u64, txn: &Txn) -> Applied {
        self.time_ms = self.time_ms.max(time_ms);
        if let Some(outcome) = self.conflict(&txn.conditions) {
            return Applied { outcome, batch: None };
        }
        if txn.operations.is_empty() {
            return Applied {
                outcome: Outcome::Committed { revision: self.revision },
                batch: None,
            };
        }
        self.revision = self.revision.next();
        let events =
            txn.operations.iter().filter_map(|operation| self.apply_operation(operation)).collect();
        let (revision, time_ms, origin) = (self.revision, self.time_ms, txn.origin.clone());
        let batch = Batch { revision, time_ms, events, origin };
        Applied {
            outcome: Outcome::Committed { revision: self.revision },
            batch: Some(Arc::new(batch)),
        }
    }

    /// The state as readers see it; stays as it is while this one moves on.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.revision, self.size, self.objects.clone())
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
            let current = self.objects.get(condition.key());
            let holds = match condition {
                Condition::Modified { revision, .. } => {
                    current.map_or(Revision::ZERO, |entry| entry.modified) == *revision
                }
                Condition::Exists { .. } => current.is_some(),
            };
            (!holds).then(|| Outcome::Conflict {
                condition: index,
                current: current.cloned(),
                revision: self.revision,
            })
        })
    }

    fn apply_operation(&mut self, operation: &Operation) -> Option<Event> {
        match operation {
            Operation::Put { key, value } => Some(self.put(key, value)),
            Operation::Delete { key } => self.delete(key),
        }
    }

    fn put(&mut self, key: &Bytes, value: &Bytes) -> Event {
        let modified = self.revision;
        let mut current = Entry { value: value.clone(), created: modified, modified };
        self.size += footprint(key, &current);
        let previous = self.objects.put(key, |previous| {
            current.created = previous.map_or(modified, |previous| previous.created);
            (key.clone(), current.clone())
        });
        self.size -= previous.as_ref().map_or(0, |previous| footprint(key, previous));
        Event { key: key.clone(), current: Some(current), previous }
    }

    fn delete(&mut self, key: &Bytes) -> Option<Event> {
        let previous = self.objects.remove(key)?;
        self.size -= footprint(key, &previous);
        Some(Event { key: key.clone(), current: None, previous: Some(previous) })
    }
}

/// What an object counts for in the size.
pub(crate) fn footprint(key: &Bytes, entry: &Entry) -> u64 {
    (key.len() + entry.value.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_revision_per_committed_transaction() {
        let mut state = State::new();
        let commit = |state: &mut State, txn: Txn| match state.apply(0, &txn).outcome {
            Outcome::Committed { revision } => revision.get(),
            conflict @ Outcome::Conflict { .. } => panic!("{conflict:?}"),
        };
        assert_eq!(commit(&mut state, txn([], [put("a", "1"), put("b", "1")])), 1);
        assert_eq!(commit(&mut state, txn([modified("a", 1), modified("c", 0)], [])), 1);
        assert_eq!(
            commit(&mut state, txn([exists("a"), modified("b", 1)], [put("a", "22"), delete("b")])),
            2
        );
        assert_eq!(commit(&mut state, txn([], [delete("none")])), 3);
        assert_eq!(state.get(b"a"), Some(&entry("22", 1, 2)));
        assert_eq!((state.len(), state.size()), (1, 3));
    }

    #[test]
    fn a_conflict_tells_the_first_failed_condition_and_changes_nothing() {
        let mut state = State::new();
        state.apply(5, &txn([], [put("a", "1")]));
        let before = state.clone();
        let mut check = |conditions: [Condition; 2], condition, current| {
            let applied = state.apply(5, &txn(conditions, [put("a", "2")]));
            let outcome = Outcome::Conflict { condition, current, revision: Revision::new(1) };
            assert_eq!(applied, Applied { outcome, batch: None });
        };
        check([modified("a", 0), exists("z")], 0, Some(entry("1", 1, 1)));
        check([modified("a", 1), exists("z")], 1, None);
        check([exists("a"), modified("z", 7)], 1, None);
        assert_eq!(state, before);
    }

    #[test]
    fn batches_tell_what_changed_and_time_never_goes_back() {
        let mut state = State::new();
        state.apply(1000, &txn([], [put("a", "1"), put("b", "1")]));
        let applied =
            state.apply(900, &txn([], [delete("b"), delete("z"), put("a", "2"), put("c", "3")]));
        let batch = applied.batch.expect("it committed");
        let event =
            |key: &'static str, current, previous| Event { key: key.into(), current, previous };
        assert_eq!((batch.revision, batch.time_ms), (Revision::new(2), 1000));
        assert_eq!(
            batch.events[..],
            [
                event("b", None, Some(entry("1", 1, 1))),
                event("a", Some(entry("2", 1, 2)), Some(entry("1", 1, 1))),
                event("c", Some(entry("3", 2, 2)), None),
            ]
        );
    }

    #[test]
    fn restores_what_it_was() {
        let mut state = State::new();
        state.apply(7, &txn([], [put("a", "1"), put("b", "22"), put("c", "")]));
        state.apply(9, &txn([], [delete("a"), put("c", "4")]));
        let entries: Vec<_> =
            state.objects.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
        let restored = State::restore(state.revision(), state.time_ms(), entries);
        assert_eq!(restored, state);
        assert_eq!(restored.snapshot().digest(), state.snapshot().digest());
    }

    #[test]
    fn events_replayed_in_order_lead_to_the_same_state() {
        let (mut state, mut replayed) = (State::new(), State::new());
        for operations in [
            vec![put("a", "1"), put("b", "22"), put("a", "333")],
            vec![delete("a"), put("b", "4")],
            vec![put("a", "5"), delete("b"), put("b", "66"), delete("none")],
        ] {
            let batch = state.apply(7, &txn([], operations)).batch.expect("it committed");
            for event in batch.events.iter() {
                assert_eq!(replayed.replay(event), event.previous);
            }
        }
        assert_eq!(replayed.arrived_at(state.revision(), state.time_ms()), state);
    }

    fn txn(conditions: impl Into<Vec<Condition>>, operations: impl Into<Vec<Operation>>) -> Txn {
        Txn { conditions: conditions.into(), operations: operations.into(), ..Txn::default() }
    }

    fn put(key: &'static str, value: &'static str) -> Operation {
        Operation::Put { key: key.into(), value: value.into() }
    }

    fn delete(key: &'static str) -> Operation {
        Operation::Delete { key: key.into() }
    }

    fn modified(key: &'static str, revision: u64) -> Condition {
        Condition::Modified { key: key.into(), revision: Revision::new(revision) }
    }

    fn exists(key: &'static str) -> Condition {
        Condition::Exists { key: key.into() }
    }

    fn entry(value: &'static str, created: u64, modified: u64) -> Entry {
        Entry {
            value: value.into(),
            created: Revision::new(created),
            modified: Revision::new(modified),
        }
    }
}
