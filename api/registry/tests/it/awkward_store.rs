//! Stores for tests that behave like a cluster under contention: concurrent writers, and a node
//! that is behind. And a permit.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use quorate_store::{
    Error, HistoryError, Limits, MemoryStore, Outcome, Past, Revision, Snapshot, Status, Store,
    Txn, Watch,
};

/// The permit of a user that may create every object.
pub(crate) fn anybody() -> BoxFuture<'static, Result<(), quorate_registry::Error>> {
    Box::pin(async { Ok(()) })
}

/// A store whose state on this node is old until a current one is requested, and which lets every
/// other task run before it commits.
pub(crate) struct Awkward {
    store: MemoryStore,
    seen: Mutex<Snapshot>,
}

impl Awkward {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { seen: Mutex::new(store.snapshot()), store }
    }
}

#[async_trait]
impl Store for Awkward {
    async fn read_index(&self) -> Result<Revision, Error> {
        let revision = self.store.read_index().await?;
        *self.seen.lock() = self.store.snapshot();
        Ok(revision)
    }

    fn snapshot(&self) -> Snapshot {
        self.seen.lock().clone()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.store.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.store.applied(at).await;
        *self.seen.lock() = self.store.snapshot();
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        tokio::task::yield_now().await;
        self.store.txn(txn).await
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.store.past()
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}
