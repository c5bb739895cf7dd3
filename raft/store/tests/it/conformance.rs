//! The memory store passes the suite: with everything in the ring, and with a ring too small to
//! hold anything.

use std::sync::Arc;

use quorate_env::SystemEnv;
use quorate_store::{
    Limits, MemoryOptions, MemoryStore, Retention, ServingOptions, Store, conformance,
};

fn options() -> MemoryOptions {
    MemoryOptions::new(Arc::new(SystemEnv))
}

fn store(options: MemoryOptions) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(options))
}

#[tokio::test]
async fn new_stores() {
    conformance::run_all(async || store(options())).await;
}

#[tokio::test]
async fn one_store_for_all_cases_twice() {
    let store = store(options());
    conformance::run_all(async || Arc::clone(&store)).await;
    conformance::run_all(async || Arc::clone(&store)).await;
}

#[tokio::test]
async fn history_instead_of_the_ring() {
    let options = MemoryOptions {
        serving: ServingOptions { ring_bytes: 0, ..ServingOptions::default() },
        ..options()
    };
    conformance::run_all(async || store(options.clone())).await;
}

#[tokio::test]
async fn compaction() {
    let retention = Retention { bytes: 64 << 10, ..Retention::default() };
    for ring_bytes in [0, 16 << 10, 1 << 20] {
        let options = MemoryOptions {
            serving: ServingOptions { ring_bytes, ..ServingOptions::default() },
            retention,
            ..options()
        };
        conformance::compaction(store(options)).await;
    }
}

#[tokio::test]
async fn past() {
    let store = store(options());
    conformance::past(Arc::clone(&store)).await;
    conformance::past(store).await;
}

#[tokio::test]
async fn size_limit() {
    let limits = Limits { store_bytes: 50 << 10, ..Limits::default() };
    conformance::size_limit(store(MemoryOptions { limits, ..options() })).await;
}
