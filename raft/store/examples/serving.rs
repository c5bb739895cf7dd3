//! Measures the memory store's hot paths and prints them: `cargo run --release -p quorate-store
//! --example serving`.
//!
//! No disk and no network: what applying, publishing, reading and waking watchers costs by itself.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_env::SystemEnv;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Revision, Store, Txn, Watch};

const OBJECTS: usize = 100_000;
const VALUE_BYTES: usize = 1024;
const WRITES: usize = 100_000;
const FAN_OUT_WRITES: usize = 5_000;
const WATCHERS: usize = 1_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(Arc::new(SystemEnv))));
    write("create, nothing watched", &store, OBJECTS, "o/core/configmaps").await;
    write("update, nothing watched", &store, WRITES, "o/core/configmaps").await;
    read(&store);
    old_state(&store);
    let quiet: Vec<_> =
        (0..WATCHERS).map(|index| watch(&store, format!("o/core/secrets/{index}/"))).collect();
    write("update, 1,000 other prefixes watched", &store, WRITES, "o/core/configmaps").await;
    drop(quiet);
    fan_out(&store, WATCHERS).await;
    fan_out(&store, 10).await;
}

async fn write(title: &str, store: &MemoryStore, count: usize, collection: &str) {
    let value = Bytes::from(vec![b'x'; VALUE_BYTES]);
    let start = Instant::now();
    for number in 0..count {
        let key = Bytes::from(format!("{collection}/namespace-{}/name-{number}", number % 100));
        let operations = vec![Operation::Put { key, value: value.clone() }];
        store
            .txn(Txn { conditions: vec![], operations, ..Txn::default() })
            .await
            .expect("there is room");
    }
    report(title, start.elapsed(), count);
}

fn read(store: &MemoryStore) {
    let start = Instant::now();
    for number in 0..WRITES {
        let key = format!("o/core/configmaps/namespace-{}/name-{number}", number % 100);
        black_box(store.snapshot().get(key.as_bytes()).expect("it was written"));
    }
    report("snapshot and get", start.elapsed(), WRITES);
    let start = Instant::now();
    let snapshot = store.snapshot();
    let count =
        snapshot.range(b"o/core/configmaps/", None).inspect(|entry| _ = black_box(entry)).count();
    report("range, per key", start.elapsed(), count);
    let start = Instant::now();
    let count = black_box(snapshot.count(b"o/core/configmaps/", None));
    report("count, per key", start.elapsed(), count);
}

fn old_state(store: &MemoryStore) {
    const BACK: u64 = 10_000;
    let at = Revision::new(store.status().applied.get() - BACK);
    for title in ["old state the first time, per change since", "old state again, per change since"]
    {
        let start = Instant::now();
        black_box(store.snapshot_at(at).expect("it is kept"));
        report(title, start.elapsed(), usize::try_from(BACK).unwrap_or(usize::MAX));
    }
}

/// Every watcher sees every write, as fast as one publisher can make them.
async fn fan_out(store: &Arc<MemoryStore>, watchers: usize) {
    let watches: Vec<_> = (0..watchers).map(|_| watch(store, "o/core/pods/".to_owned())).collect();
    let tasks: Vec<_> = watches.into_iter().map(|watch| tokio::spawn(drain(watch))).collect();
    let start = Instant::now();
    for _ in 0..FAN_OUT_WRITES / 10 {
        write_quietly(store, 10).await;
        tokio::task::yield_now().await;
    }
    let published = start.elapsed();
    for task in tasks {
        task.await.expect("it saw everything");
    }
    report(&format!("publish to {watchers} watchers, per write"), published, FAN_OUT_WRITES);
    report(
        &format!("deliver to {watchers} watchers, per event"),
        start.elapsed(),
        FAN_OUT_WRITES * watchers,
    );
}

async fn write_quietly(store: &MemoryStore, count: usize) {
    let value = Bytes::from(vec![b'x'; VALUE_BYTES]);
    for number in 0..count {
        let key = Bytes::from(format!("o/core/pods/namespace/name-{number}"));
        let operations = vec![Operation::Put { key, value: value.clone() }];
        store
            .txn(Txn { conditions: vec![], operations, ..Txn::default() })
            .await
            .expect("there is room");
    }
}

async fn drain(mut watch: Watch) {
    for _ in 0..FAN_OUT_WRITES {
        black_box(watch.next().await.expect("it is kept").events().count());
    }
}

fn watch(store: &MemoryStore, prefix: String) -> Watch {
    store.watch(Bytes::from(prefix), store.status().applied).expect("the newest is kept")
}

fn report(title: &str, elapsed: Duration, count: usize) {
    let nanos = elapsed.as_secs_f64() * 1e9 / count as f64;
    println!("{title:<45} {nanos:>9.0} ns  {:>12.0} /s", 1e9 / nanos);
}
