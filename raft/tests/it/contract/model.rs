//! The model of the store: what the members hold and held, by the answers to transactions.

use std::collections::BTreeMap;

use bytes::Bytes;
use quorate_store::{Condition, Operation, Revision, Snapshot, Txn};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// What transactions touch.
const KEYS: [&str; 7] = ["a", "a/1", "a/2", "a/3", "b/1", "b/2", "c"];
/// What every transaction writes, on condition that it was written by the one before.
const FENCE: &str = "fence";
/// What clients watch.
pub(super) const PREFIXES: [&str; 5] = ["", "a", "a/", "b/", "c"];
/// Bytes of the values at most.
const VALUE_BYTES: usize = 300;

pub(super) type Contents = BTreeMap<Bytes, Bytes>;
/// The changes of one transaction; no value is a deletion.
pub(super) type Changes = BTreeMap<Bytes, Option<Bytes>>;

/// Every state that a revision had.
pub(super) struct Model {
    begun: Revision,
    transactions: Vec<Changes>,
    state: Contents,
}

/// A state as this model has it.
pub(super) fn contents(snapshot: &Snapshot) -> Contents {
    let of_the_test =
        |key: &Bytes| KEYS.iter().chain([&FENCE]).any(|other| other.as_bytes() == key);
    let all = snapshot.range(b"", None).filter(|(key, _)| of_the_test(key));
    all.map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
}

impl Model {
    /// Nothing that concerns this test was written up to here.
    pub(super) fn new(begun: Revision) -> Self {
        Self { begun, transactions: Vec::new(), state: Contents::new() }
    }

    pub(super) fn begun(&self) -> Revision {
        self.begun
    }

    pub(super) fn newest(&self) -> Revision {
        Revision::new(self.begun.get() + self.transactions.len() as u64)
    }

    /// A transaction that changes something, and deletes only what is there. However often it is
    /// tried, it commits once.
    pub(super) fn propose(&self, random: &mut StdRng) -> Txn {
        let count = random.random_range(1..4);
        let keys: Vec<&str> = KEYS.choose_multiple(random, count).copied().collect();
        let mut operation = |key: &str| {
            let key = Bytes::copy_from_slice(key.as_bytes());
            if self.state.contains_key(&key) && random.random_bool(0.4) {
                return Operation::Delete { key };
            }
            let value = (0..random.random_range(1..VALUE_BYTES))
                .map(|_| random.random_range(b'a'..=b'z'))
                .collect::<Vec<_>>();
            Operation::Put { key, value: value.into() }
        };
        let fence = Bytes::from_static(FENCE.as_bytes());
        let before = if self.transactions.is_empty() { Revision::ZERO } else { self.newest() };
        let mut operations: Vec<Operation> = keys.into_iter().map(&mut operation).collect();
        operations.push(Operation::Put { key: fence.clone(), value: Bytes::new() });
        Txn {
            conditions: vec![Condition::Modified { key: fence, revision: before }],
            operations,
            ..Txn::default()
        }
    }

    pub(super) fn commit(&mut self, revision: Revision, operations: &[Operation]) {
        assert_eq!(revision, self.newest().next());
        let changes: Changes = operations
            .iter()
            .map(|operation| match operation {
                Operation::Put { key, value } => (key.clone(), Some(value.clone())),
                Operation::Delete { key } => (key.clone(), None),
            })
            .collect();
        apply(&mut self.state, &changes);
        self.transactions.push(changes);
    }

    /// What a watch of a prefix has to give after a revision.
    pub(super) fn after(
        &self,
        prefix: &[u8],
        after: Revision,
    ) -> impl Iterator<Item = (Revision, Changes)> {
        let skip = after.get().saturating_sub(self.begun.get()) as usize;
        let first = self.begun.get() + 1;
        self.transactions.iter().enumerate().skip(skip).filter_map(move |(index, changes)| {
            let touched = changes.iter().filter(|(key, _)| key.starts_with(prefix));
            let touched: Changes =
                touched.map(|(key, value)| (key.clone(), value.clone())).collect();
            (!touched.is_empty()).then_some((Revision::new(first + index as u64), touched))
        })
    }

    pub(super) fn state_at(&self, at: Revision) -> Contents {
        let mut state = Contents::new();
        let count = (at.get() - self.begun.get()) as usize;
        self.transactions[..count].iter().for_each(|changes| apply(&mut state, changes));
        state
    }
}

pub(super) fn apply(state: &mut Contents, changes: &Changes) {
    for (key, value) in changes {
        match value {
            Some(value) => state.insert(key.clone(), value.clone()),
            None => state.remove(key),
        };
    }
}
