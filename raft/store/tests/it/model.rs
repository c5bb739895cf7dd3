//! Random transactions against a naive model that keeps every state whole: outcomes, entries, old
//! states, ranges, watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use quorate_env::Clock;
use quorate_store::{
    Condition, Entry, HistoryError, MemoryOptions, MemoryStore, Operation, Outcome, Retention,
    Revision, ServingOptions, Store, Txn,
};

/// Few keys, some of them prefixes of others, so that transactions meet.
const KEYS: [&str; 7] = ["a", "a/", "a/1", "a/2", "a0", "b/1", "\u{7f}"];
const PREFIXES: [&str; 6] = ["", "a", "a/", "a/1", "b/", "c"];

type Objects = BTreeMap<Bytes, Entry>;

/// Every state there was, by revision; the first is the empty one.
#[derive(Debug, Default)]
struct Model {
    states: Vec<Objects>,
}

impl Model {
    fn apply(&mut self, txn: &Txn) -> Outcome {
        let current = self.states.last().expect("the empty state is there");
        let revision = Revision::new(self.states.len() as u64 - 1);
        for (index, condition) in txn.conditions.iter().enumerate() {
            let entry = current.get(condition.key());
            let holds = match condition {
                Condition::Exists { .. } => entry.is_some(),
                Condition::Modified { revision, .. } => {
                    entry.map_or(0, |entry| entry.modified.get()) == revision.get()
                }
            };
            if !holds {
                return Outcome::Conflict { condition: index, current: entry.cloned(), revision };
            }
        }
        if txn.operations.is_empty() {
            return Outcome::Committed { revision };
        }
        let mut next = current.clone();
        let modified = revision.next();
        for operation in &txn.operations {
            let old = next.remove(operation.key());
            if let Operation::Put { key, value } = operation {
                let created = old.map_or(modified, |old| old.created);
                next.insert(key.clone(), Entry { value: value.clone(), created, modified });
            }
        }
        self.states.push(next);
        Outcome::Committed { revision: modified }
    }

    /// What differs between the states before and at a revision, below a prefix.
    fn changes(
        &self,
        revision: usize,
        prefix: &str,
    ) -> BTreeMap<Bytes, (Option<Entry>, Option<Entry>)> {
        let (before, after) = (&self.states[revision - 1], &self.states[revision]);
        let keys =
            before.keys().chain(after.keys()).filter(|key| key.starts_with(prefix.as_bytes()));
        let both =
            keys.map(|key| (key.clone(), (after.get(key).cloned(), before.get(key).cloned())));
        both.filter(|(_, (after, before))| after != before).collect()
    }
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now_ms(&self) -> u64 {
        1000
    }
}

fn key() -> impl Strategy<Value = Bytes> {
    prop::sample::select(&KEYS[..]).prop_map(|key| Bytes::from_static(key.as_bytes()))
}

/// A transaction before its conditions are filled in with revisions.
type Sketch = (Vec<(Bytes, Option<u64>)>, Vec<Operation>);

/// Conditions carry a distance into the past instead of a revision, so that many of them hold.
fn transaction() -> impl Strategy<Value = Sketch> {
    let condition = (key(), prop::option::weighted(0.7, 0..4_u64));
    let operations =
        btree_map(key(), prop::option::weighted(0.7, "[xy]{0,3}"), 0..4).prop_map(|changes| {
            let operation = |(key, value)| match value {
                Some(value) => Operation::Put { key, value: Bytes::from(value) },
                None => Operation::Delete { key },
            };
            changes.into_iter().map(operation).collect()
        });
    (vec(condition, 0..2), operations)
}

fn condition(model: &Model, (key, distance): (Bytes, Option<u64>)) -> Condition {
    let Some(distance) = distance else {
        return Condition::Exists { key };
    };
    let current = model
        .states
        .last()
        .and_then(|state| state.get(&key))
        .map_or(0, |entry| entry.modified.get());
    Condition::Modified {
        key,
        revision: Revision::new(if distance < 3 { current } else { current + distance }),
    }
}

fn check(
    txns: Vec<Sketch>,
    ring_bytes: usize,
    history_bytes: u64,
    reads: &[Index],
) -> Result<(), TestCaseError> {
    let options = MemoryOptions {
        serving: ServingOptions { ring_bytes, ..ServingOptions::default() },
        retention: Retention { bytes: history_bytes, time_ms: 1 },
        ..MemoryOptions::new(Arc::new(Still))
    };
    let store = MemoryStore::new(options);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let mut model = Model { states: vec![Objects::new()] };
    for (conditions, operations) in txns {
        let conditions = conditions.into_iter().map(|sketch| condition(&model, sketch)).collect();
        let txn = Txn { conditions, operations, ..Txn::default() };
        let outcome = runtime.block_on(store.txn(txn.clone())).expect("it is valid");
        prop_assert_eq!(outcome, model.apply(&txn));
    }
    let (oldest, applied) = (store.status().oldest, store.status().applied);
    prop_assert_eq!(applied.get() as usize, model.states.len() - 1);
    prop_assert_eq!(store.status().size as usize, model.states.last().map_or(0, size));
    for index in reads {
        let revision = index.index(model.states.len());
        let at = Revision::new(revision as u64);
        for prefix in PREFIXES {
            check_reads(&store, &model, at, prefix, oldest)?;
            check_watch(&store, &model, at, prefix, oldest)?;
        }
    }
    Ok(())
}

fn size(state: &Objects) -> usize {
    state.iter().map(|(key, entry)| key.len() + entry.value.len()).sum()
}

fn check_reads(
    store: &MemoryStore,
    model: &Model,
    at: Revision,
    prefix: &str,
    oldest: Revision,
) -> Result<(), TestCaseError> {
    let snapshot = match store.snapshot_at(at) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            prop_assert!(at < oldest);
            prop_assert_eq!(error, HistoryError::Compacted { oldest });
            return Ok(());
        }
    };
    let state = &model.states[at.get() as usize];
    prop_assert!(at >= oldest);
    prop_assert!(snapshot.range(b"", None).eq(state.iter()), "at {}", at);
    prop_assert_eq!(snapshot.size() as usize, size(state), "at {}", at);
    for after in KEYS {
        let inside = |(key, _): &(&Bytes, &Entry)| {
            key.starts_with(prefix.as_bytes()) && key[..] > *after.as_bytes()
        };
        let expect: Vec<_> = state.iter().filter(inside).collect();
        let range: Vec<_> = snapshot.range(prefix.as_bytes(), Some(after.as_bytes())).collect();
        prop_assert_eq!(snapshot.count(prefix.as_bytes(), Some(after.as_bytes())), expect.len());
        prop_assert_eq!(range, expect, "{} after {} at {}", prefix, after, at);
        prop_assert_eq!(snapshot.get(after.as_bytes()), state.get(after.as_bytes()));
    }
    Ok(())
}

fn check_watch(
    store: &MemoryStore,
    model: &Model,
    after: Revision,
    prefix: &str,
    oldest: Revision,
) -> Result<(), TestCaseError> {
    let Ok(mut watch) = store.watch(Bytes::copy_from_slice(prefix.as_bytes()), after) else {
        prop_assert!(after < oldest);
        return Ok(());
    };
    for revision in after.get() as usize + 1..model.states.len() {
        let expect = model.changes(revision, prefix);
        if expect.is_empty() {
            continue;
        }
        let batch = watch.try_next().expect("it is kept").expect("there is more");
        let events = batch
            .events()
            .map(|event| (event.key.clone(), (event.current.clone(), event.previous.clone())));
        prop_assert_eq!(batch.revision().get() as usize, revision);
        prop_assert_eq!(events.collect::<BTreeMap<_, _>>(), expect);
    }
    prop_assert!(watch.try_next().expect("it is kept").is_none());
    prop_assert_eq!(watch.position().get() as usize, model.states.len() - 1);
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_the_model(
        txns in vec(transaction(), 1..60),
        ring_bytes in prop::sample::select(vec![0, 600, 3000, 1 << 20]),
        history_bytes in prop::sample::select(vec![2000, 1 << 20]),
        reads in vec(any::<Index>(), 1..6),
    ) {
        check(txns, ring_bytes, history_bytes, &reads)?;
    }
}
