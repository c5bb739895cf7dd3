//! What indexes give, beside scans of the same states, and how many are kept.

mod compared;
mod kept;

use quorate_env::SystemEnv;
use quorate_meta::Value;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Revision, Store, Txn};
use quorate_wire::stored;
use serde_json::json;

use super::built::{BuiltIndex, Progress};
use super::key::IndexedBy;

const PREFIX: &[u8] = b"o/";
/// Bytes that no index of these tests takes.
const LARGE: usize = 128 << 20;
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

async fn build(store: &MemoryStore, by: &IndexedBy) -> BuiltIndex {
    let prefix = bytes::Bytes::from_static(PREFIX);
    BuiltIndex::build(store, &prefix, by, LARGE).await.expect("it is small")
}

/// Whether the index answers for a revision, after it has taken in what there is.
fn reaches(index: &mut BuiltIndex, at: Revision) -> bool {
    loop {
        match index.advance(at) {
            Progress::Reached => return true,
            Progress::Behind => {}
            Progress::TooOld | Progress::Lost => return false,
        }
    }
}
