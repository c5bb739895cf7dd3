//! What indexes give, beside scans of the same states, and how many are kept.

use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Revision, Snapshot, Txn};
use quorate_wire::stored;
use serde_json::json;

use super::*;

const PREFIX: &[u8] = b"o/";
/// Values of the label `x` and of the field `f`; the last of each is none.
const VALUES: [&str; 20] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
    "17", "18", "",
];

/// A fixed sequence of numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn store() -> MemoryStore {
    MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock))
}

fn object(label: &str, field: &str) -> bytes::Bytes {
    let labels = if label.is_empty() { json!({}) } else { json!({"x": label}) };
    let object = Value::from(json!({"metadata": {"name": "m", "uid": "u", "labels": labels}}));
    stored::encode(&object, &[("f", field.to_owned())]).expect("a complete object")
}

fn key(number: usize) -> bytes::Bytes {
    format!("o/{}/{number:05}", ["a", "b"][number % 2]).into()
}

async fn change(store: &MemoryStore, numbers: &mut Numbers, objects: usize) {
    let key = key(numbers.below(objects));
    let operation = match numbers.below(64) {
        0..8 => Operation::Delete { key },
        8 => Operation::Put { key, value: bytes::Bytes::from_static(b"unreadable") },
        _ => {
            let mut any = || VALUES[numbers.below(VALUES.len())];
            Operation::Put { key, value: object(any(), any()) }
        }
    };
    let txn = Txn { operations: vec![operation], ..Txn::default() };
    store.txn(txn).await.expect("it commits");
}

/// The keys whose object has one of the values, or cannot be read.
fn scan(
    snapshot: &Snapshot,
    by: &IndexedBy,
    values: &[String],
    (prefix, after): (&[u8], Option<&[u8]>),
) -> Vec<bytes::Bytes> {
    let wanted: Vec<_> = values.iter().map(|value| IndexedBy::term(value)).collect();
    let is_wanted = |value: &bytes::Bytes| {
        let term = by.term_of(value);
        term.is_some_and(|term| wanted.contains(&term) || term == IndexedBy::unknown())
    };
    let range = snapshot.range(prefix, after);
    range.filter(|(_, entry)| is_wanted(&entry.value)).map(|(key, _)| key.clone()).collect()
}

/// All candidates of a state, a few at a time.
fn look_up(
    index: &mut BuiltIndex,
    at: Revision,
    values: &[String],
    (prefix, after): (&[u8], Option<&[u8]>),
    most: usize,
) -> Option<Vec<bytes::Bytes>> {
    let mut found: Vec<bytes::Bytes> = Vec::new();
    loop {
        let after = found.last().map(|key| &**key).or(after);
        let next = index.candidates(at, values, (prefix, after), most)?;
        assert!(next.keys.len() <= most && (next.is_end || next.keys.len() == most));
        found.extend(next.keys);
        if next.is_end {
            return Some(found);
        }
    }
}

async fn compare(by: IndexedBy, seed: u64) {
    const OBJECTS: usize = 6000;
    const CHANGES: usize = 9000;
    let (store, mut numbers) = (store(), Numbers(seed));
    for _ in 0..OBJECTS * 2 {
        change(&store, &mut numbers, OBJECTS).await;
    }
    let prefix = bytes::Bytes::from_static(PREFIX);
    let mut index = BuiltIndex::build(&store, &prefix, &by, MAX_BYTES).await.expect("it is small");
    let (mut states, mut exact, mut older, mut unknown) = (vec![store.snapshot()], 0, 0, 0);
    for step in 0..CHANGES {
        change(&store, &mut numbers, OBJECTS).await;
        if step % 50 == 0 {
            states.push(store.snapshot());
        }
        if step % 40 > 0 {
            continue;
        }
        let is_newest = numbers.below(2) == 0;
        let place = if is_newest { states.len() - 1 } else { numbers.below(states.len()) };
        let state = if is_newest { store.snapshot() } else { states[place].clone() };
        let values: Vec<String> = (0..=numbers.below(2))
            .map(|_| VALUES[numbers.below(VALUES.len() - 1)].to_owned())
            .collect();
        let within: &[u8] = [PREFIX, b"o/a/", b"o/b/0"][numbers.below(3)];
        let after = key(numbers.below(OBJECTS));
        let after = (numbers.below(2) == 0).then_some(&*after);
        let most = [1, 3, 5000][numbers.below(3)];
        let looked_up = look_up(&mut index, state.revision(), &values, (within, after), most);
        let Some(found) = looked_up else {
            unknown += 1;
            continue;
        };
        assert!(found.is_sorted() && found.iter().all(|key| key.starts_with(within)));
        assert!(after.is_none_or(|after| found.iter().all(|key| **key > *after)));
        let expect = scan(&state, &by, &values, (within, after));
        let missing = expect.iter().find(|key| found.binary_search(key).is_err());
        assert_eq!(missing, None, "{by:?} {values:?} at {}", state.revision());
        exact += usize::from(is_newest);
        older += usize::from(!is_newest);
    }
    assert!(exact > 60 && older > 15, "{exact} {older} {unknown}");
}

#[tokio::test]
async fn nothing_that_matches_is_left_out() {
    compare(IndexedBy::Label("x".to_owned()), 1).await;
    compare(IndexedBy::Field("f".to_owned(), None), 2).await;
}

#[tokio::test]
async fn bytes_come_back_when_objects_go() {
    let (store, by) = (store(), IndexedBy::Label("x".to_owned()));
    let prefix = bytes::Bytes::from_static(PREFIX);
    let put = |number: usize| Operation::Put { key: key(number), value: object("1", "") };
    let commit = async |operation: Operation| {
        let txn = Txn { operations: vec![operation], ..Txn::default() };
        store.txn(txn).await.expect("it commits");
    };
    let mut index = BuiltIndex::build(&store, &prefix, &by, MAX_BYTES).await.expect("small");
    for number in 0..20_000 {
        commit(put(number)).await;
    }
    let look = |index: &mut BuiltIndex| {
        index.candidates(store.snapshot().revision(), &["2".to_owned()], (PREFIX, None), 10)
    };
    assert!(look(&mut index).is_some_and(|found| found.keys.is_empty()));
    let full = index.bytes();
    for number in 0..20_000 {
        commit(Operation::Delete { key: key(number) }).await;
    }
    assert!(look(&mut index).is_some());
    assert!(index.bytes() < full / 3, "{} of {full}", index.bytes());
    assert!(BuiltIndex::build(&store, &prefix, &by, 0).await.is_some(), "nothing is there");
    commit(put(1)).await;
    assert!(BuiltIndex::build(&store, &prefix, &by, 0).await.is_none(), "too large");
}

fn configmaps() -> Arc<Resource> {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    catalogue.find("", "v1", "configmaps").expect("a built-in resource").clone()
}

fn label_key(resource: &Resource, name: &str) -> IndexKey {
    IndexKey::new(resource, &IndexedBy::Label(name.to_owned()))
}

#[test]
fn an_index_is_made_when_it_is_asked_for_again() {
    let (indexes, resource, begun) = (SelectorIndexes::default(), configmaps(), Instant::now());
    let check = |name: &str, after: Duration, large: bool, expect: bool| {
        let look = indexes.look(&label_key(&resource, name), begun + after, || large);
        assert_eq!(matches!(look, Look::Make), expect, "{name} after {after:?}");
    };
    let second = Duration::from_secs(1);
    check("a", Duration::ZERO, true, false);
    check("a", second, false, false);
    check("a", second, true, true);
    check("a", 2 * second, true, false);
    check("b", second, true, false);
    check("b", REPEATED + second, true, false);
    check("b", REPEATED + 2 * second, true, true);
}

#[test]
fn what_was_asked_for_and_what_is_kept_is_bounded() {
    let (indexes, resource, now) = (SelectorIndexes::default(), configmaps(), Instant::now());
    for number in 0..10 * MAX_ASKED {
        indexes.look(&label_key(&resource, &format!("once-{number}")), now, || true);
    }
    assert_eq!(indexes.slots.lock().len(), MAX_ASKED);
    let made = (0..2 * MAX_INDEXES).filter(|number| {
        let key = label_key(&resource, &format!("twice-{number}"));
        let look = || matches!(indexes.look(&key, now, || true), Look::Make);
        look() || look()
    });
    assert_eq!(made.count(), MAX_INDEXES);
    indexes.look(&label_key(&resource, "later"), now + UNUSED, || true);
    assert_eq!(indexes.slots.lock().len(), MAX_INDEXES + 1, "those that are being made stay");
}

#[tokio::test]
async fn indexes_that_take_too_much_together_go() {
    let (indexes, store, resource) = (SelectorIndexes::default(), store(), configmaps());
    let names = ["a", "b", "c"].map(|name| IndexedBy::Label(name.to_owned()));
    let now = Instant::now();
    for (age, by) in names.iter().enumerate() {
        let built = BuiltIndex::build(&store, &resource.prefix, by, MAX_BYTES).await;
        let index = Arc::new(Mutex::new(built.expect("it is empty")));
        let state = SlotState::Ready(index, MAX_BYTES / 2 - age);
        let used = now + Duration::from_secs(age as u64);
        indexes.slots.lock().insert(IndexKey::new(&resource, by), Slot { used, state });
    }
    indexes.evict();
    let is_kept = |by: &IndexedBy| indexes.slots.lock()[&IndexKey::new(&resource, by)].is_index();
    assert_eq!(names.each_ref().map(is_kept), [false, true, true]);
}

#[tokio::test]
async fn a_request_that_ends_early_leaves_no_index_half_made() {
    let (indexes, store, resource) = (SelectorIndexes::default(), store(), configmaps());
    let by = IndexedBy::Label("x".to_owned());
    for number in 0..10_000 {
        let key = [&resource.prefix[..], format!("a/{number:05}").as_bytes()].concat().into();
        let operations = vec![Operation::Put { key, value: object("1", "") }];
        store.txn(Txn { operations, ..Txn::default() }).await.expect("it commits");
    }
    assert!(indexes.find(&store, &resource, &by, || true).await.is_none());
    {
        let mut making = Box::pin(indexes.find(&store, &resource, &by, || true));
        assert!(futures::poll!(&mut making).is_pending());
        assert!(indexes.find(&store, &resource, &by, || true).await.is_none(), "it is being made");
    }
    assert!(indexes.find(&store, &resource, &by, || true).await.is_none(), "asked for once");
    assert!(indexes.find(&store, &resource, &by, || true).await.is_some());
}
