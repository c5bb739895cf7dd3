//! A store under test, with the key prefix that one case owns.
//!
//! Invariant: every wait is bounded by [`PATIENCE`], so that a store that loses something fails
//! instead of hanging.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::{Condition, Operation, Outcome, Revision, Snapshot, Store, Txn, Watch, WatchBatch};

/// How long anything may take that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Subject {
    pub(super) store: Arc<dyn Store>,
    prefix: String,
}

impl Subject {
    /// The prefix is new to the store even when the case ran on it before: a case that writes moves
    /// the revision.
    pub(super) async fn new(store: Arc<dyn Store>, case: &str) -> Self {
        let revision = store.read_index().await.expect("read index");
        Self { store, prefix: format!("conformance/{case}/{revision}/") }
    }

    pub(super) fn key(&self, name: &str) -> Bytes {
        Bytes::from(format!("{}{name}", self.prefix))
    }

    /// The case's part of a key.
    pub(super) fn name(&self, key: &Bytes) -> String {
        let name = key.strip_prefix(self.prefix.as_bytes()).expect("the key has the case's prefix");
        String::from_utf8_lossy(name).into_owned()
    }

    pub(super) fn put(&self, name: &str, value: &str) -> Operation {
        Operation::Put { key: self.key(name), value: Bytes::copy_from_slice(value.as_bytes()) }
    }

    pub(super) fn delete(&self, name: &str) -> Operation {
        Operation::Delete { key: self.key(name) }
    }

    pub(super) fn modified(&self, name: &str, revision: Revision) -> Condition {
        Condition::Modified { key: self.key(name), revision }
    }

    pub(super) fn exists(&self, name: &str) -> Condition {
        Condition::Exists { key: self.key(name) }
    }

    pub(super) async fn decide(
        &self,
        conditions: impl Into<Vec<Condition>>,
        operations: impl Into<Vec<Operation>>,
    ) -> Outcome {
        let txn =
            Txn { conditions: conditions.into(), operations: operations.into(), ..Txn::default() };
        within(self.store.txn(txn)).await.expect("the transaction is decided")
    }

    /// Commits the operations without conditions.
    pub(super) async fn commit(&self, operations: impl Into<Vec<Operation>>) -> Revision {
        match self.decide([], operations).await {
            Outcome::Committed { revision } => revision,
            conflict @ Outcome::Conflict { .. } => {
                panic!("a transaction without conditions conflicts: {conflict:?}")
            }
        }
    }

    /// A snapshot that shows at least this revision.
    pub(super) async fn snapshot(&self, revision: Revision) -> Snapshot {
        within(self.store.applied(revision)).await;
        let snapshot = self.store.snapshot();
        assert!(
            snapshot.revision() >= revision,
            "applied({revision}) returned at {}",
            snapshot.revision()
        );
        snapshot
    }

    /// Names and values with this prefix inside the case's own.
    pub(super) fn contents(&self, snapshot: &Snapshot, prefix: &str) -> Vec<(String, String)> {
        let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
        let range = snapshot.range(&self.key(prefix), None);
        range.map(|(key, entry)| (self.name(key), text(&entry.value))).collect()
    }

    pub(super) fn watch(&self, prefix: &str, after: Revision) -> Watch {
        self.store.watch(self.key(prefix), after).expect("the revision is kept")
    }

    /// The batch as text: revision, then `name=value` or `-name` for each change.
    pub(super) fn describe(&self, batch: &WatchBatch) -> String {
        let changes = batch.events().map(|event| match &event.current {
            Some(entry) => {
                format!(" {}={}", self.name(&event.key), String::from_utf8_lossy(&entry.value))
            }
            None => format!(" -{}", self.name(&event.key)),
        });
        format!("{}{}", batch.revision(), changes.collect::<String>())
    }

    /// The next batches of the watch as [`Subject::describe`] says.
    pub(super) async fn described(&self, watch: &mut Watch, count: usize) -> Vec<String> {
        let mut described = Vec::with_capacity(count);
        for _ in 0..count {
            described.push(self.describe(&next(watch).await));
        }
        described
    }
}

pub(super) async fn next(watch: &mut Watch) -> WatchBatch {
    within(watch.next()).await.expect("the watch goes on")
}

pub(super) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}

/// Asks again and again until the answer is yes.
pub(super) async fn eventually(mut condition: impl FnMut() -> bool) {
    /// Between two questions.
    const PAUSE: Duration = Duration::from_millis(2);
    within(async {
        while !condition() {
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await;
}
