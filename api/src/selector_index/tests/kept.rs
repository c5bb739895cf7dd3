//! How many indexes are kept, how long, and in how many bytes.

use std::sync::Arc;

use parking_lot::Mutex;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_registry::Resource;
use tokio::time::{Duration, Instant, advance};

use super::super::SelectorIndexes;
use super::super::built::Unbuilt;
use super::super::key::IndexKey;
use super::super::options::SelectorIndexOptions;
use super::super::slots::{MAX_ASKED, MAX_INDEXES, REPEATED, SlotState, Slots, UNUSED};
use super::*;

#[tokio::test]
async fn bytes_come_back_when_objects_go() {
    let (store, by) = (store(), IndexedBy::Label("x".to_owned()));
    let prefix = bytes::Bytes::from_static(PREFIX);
    let put = |number: usize| Operation::Put { key: key(number), value: object("1", "") };
    let commit = async |operation: Operation| {
        let txn = Txn { operations: vec![operation], ..Txn::default() };
        store.txn(txn).await.expect("it commits");
    };
    let mut index = build(&store, &by).await;
    for number in 0..30_000 {
        commit(put(number)).await;
    }
    let look = |index: &mut BuiltIndex| {
        let at = store.snapshot().revision();
        assert!(reaches(index, at));
        index.candidates(at, &["2".to_owned()], (PREFIX, None), 10)
    };
    assert!(look(&mut index).is_some_and(|found| found.keys.is_empty()));
    let full = index.bytes();
    for number in 0..30_000 {
        commit(Operation::Delete { key: key(number) }).await;
    }
    assert!(look(&mut index).is_some());
    assert!(index.bytes() < full / 3, "{} of {full}", index.bytes());
    assert!(BuiltIndex::build(&store, &prefix, &by, 0).await.is_ok(), "nothing is there");
    commit(put(1)).await;
    let too_large = BuiltIndex::build(&store, &prefix, &by, 0).await.err();
    assert_eq!(too_large, Some(Unbuilt::TooLarge));
}

fn configmaps() -> Arc<Resource> {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    catalogue.find("", "v1", "configmaps").expect("a built-in resource").clone()
}

fn label(name: &str) -> IndexedBy {
    IndexedBy::Label(name.to_owned())
}

#[test]
fn an_index_is_made_when_it_is_asked_for_again() {
    let (mut slots, resource, begun) = (Slots::default(), configmaps(), Instant::now());
    let mut check = |name: &str, after: Duration, expect: bool| {
        let is_made = slots.ask(&IndexKey::new(&resource, &label(name)), begun + after);
        assert_eq!(is_made, expect, "{name} after {after:?}");
    };
    let second = Duration::from_secs(1);
    check("a", Duration::ZERO, false);
    check("a", second, true);
    check("a", 2 * second, false);
    check("b", second, false);
    check("b", REPEATED + second, false);
    check("b", REPEATED + 2 * second, true);
}

#[test]
fn what_was_asked_for_and_what_is_kept_is_bounded() {
    let (mut slots, resource, now) = (Slots::default(), configmaps(), Instant::now());
    let key = |name: String| IndexKey::new(&resource, &label(&name));
    for number in 0..10 * MAX_ASKED {
        slots.ask(&key(format!("once-{number}")), now);
    }
    assert_eq!(slots.len(), MAX_ASKED);
    let made = (0..2 * MAX_INDEXES).filter(|number| {
        let key = key(format!("twice-{number}"));
        slots.ask(&key, now) || slots.ask(&key, now)
    });
    assert_eq!(made.count(), MAX_INDEXES);
    slots.ask(&key("later".to_owned()), now + UNUSED);
    assert_eq!(slots.len(), MAX_INDEXES + 1, "those that are being made stay");
}

#[tokio::test]
async fn indexes_that_take_too_much_together_go() {
    let (mut slots, store, resource) = (Slots::default(), store(), configmaps());
    let names = ["a", "b", "c"].map(label);
    let now = Instant::now();
    for (age, by) in names.iter().enumerate() {
        let index = Arc::new(Mutex::new(build(&store, by).await));
        let used = now + Duration::from_secs(age as u64);
        slots.set(&IndexKey::new(&resource, by), used, SlotState::Ready(index, LARGE / 2 - age));
    }
    slots.evict(LARGE);
    let is_kept = |by: &IndexedBy| slots.ready(&IndexKey::new(&resource, by)).is_some();
    assert_eq!(names.each_ref().map(is_kept), [false, true, true]);
}

/// Ten thousand ConfigMaps.
async fn full(resource: &Resource) -> MemoryStore {
    let store = store();
    for number in 0..10_000 {
        let key = [&resource.prefix[..], format!("a/{number:05}").as_bytes()].concat().into();
        let operations = vec![Operation::Put { key, value: object("1", "") }];
        store.txn(Txn { operations, ..Txn::default() }).await.expect("it commits");
    }
    store
}

#[tokio::test]
async fn a_request_that_ends_early_leaves_no_index_half_made() {
    let (indexes, resource, by) = (SelectorIndexes::default(), configmaps(), label("x"));
    let store = full(&resource).await;
    let at = store.snapshot().revision();
    let ask = || indexes.ask(&store, &resource, &by, at);
    assert!(ask().await.is_none());
    {
        let mut making = Box::pin(ask());
        assert!(futures::poll!(&mut making).is_pending());
        assert!(ask().await.is_none(), "it is being made");
    }
    assert!(ask().await.is_none(), "asked for once");
    assert!(ask().await.is_some());
    let counts = indexes.counts();
    assert_eq!((counts.indexes, counts.built, counts.refused), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_used_for_some_minutes_is_forgotten_without_a_list() {
    let (indexes, resource, by) = (Arc::<SelectorIndexes>::default(), configmaps(), label("x"));
    let store = full(&resource).await;
    let at = store.snapshot().revision();
    let pruning = indexes.clone();
    let pruning = tokio::spawn(async move { pruning.prune().await });
    indexes.ask(&store, &resource, &by, at).await;
    assert!(indexes.ask(&store, &resource, &by, at).await.is_some());
    let bytes = indexes.counts().bytes;
    assert!(bytes > 10_000 * 60, "{bytes}");
    advance(UNUSED / 2).await;
    let used = indexes.current(&resource, &by, at).await;
    indexes.used(used.as_ref());
    tokio::time::sleep(UNUSED * 3 / 4).await;
    assert_eq!(indexes.counts().indexes, 1, "it was used");
    drop(used);
    tokio::time::sleep(UNUSED / 2).await;
    let counts = indexes.counts();
    assert_eq!((counts.indexes, counts.bytes, counts.used), (0, 0, 1));
    pruning.abort();
}

#[tokio::test]
async fn an_index_that_is_too_large_is_not_tried_again_at_once() {
    let options = SelectorIndexOptions { max_bytes: 1000, ..SelectorIndexOptions::default() };
    let (indexes, resource, by) = (SelectorIndexes::new(options), configmaps(), label("x"));
    let store = full(&resource).await;
    let at = store.snapshot().revision();
    for _ in 0..5 {
        assert!(indexes.ask(&store, &resource, &by, at).await.is_none());
    }
    let counts = indexes.counts();
    assert_eq!((counts.indexes, counts.built, counts.refused), (0, 0, 1));
}
