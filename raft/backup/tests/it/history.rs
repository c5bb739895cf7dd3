//! A node without an archive: changes come from its history, as far as that reaches.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_backup::{Target, restore, verify};
use quorate_env::SystemEnv;
use quorate_store::{
    Error, HistoryError, Limits, MemoryOptions, MemoryStore, Outcome, Past, Retention, Revision,
    Snapshot, Status, Store, Txn, Watch,
};

use crate::support::{Subject, entries, repository};

/// A store that keeps no archive.
struct Unarchived(MemoryStore);

#[async_trait]
impl Store for Unarchived {
    async fn read_index(&self) -> Result<Revision, Error> {
        self.0.read_index().await
    }

    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.0.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.0.applied(at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.0.txn(txn).await
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.0.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        None
    }

    fn status(&self) -> Status {
        self.0.status()
    }
}

fn subject(retention: Retention) -> Subject {
    let mut options = MemoryOptions { retention, ..MemoryOptions::new(Arc::new(SystemEnv)) };
    options.serving.ring_bytes = 1;
    Subject::of(Arc::new(Unarchived(MemoryStore::new(options))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_come_from_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = subject(Retention::default());
    subject.write(10, 100).await;
    subject.back_up(&repository, true).await;
    for _ in 0..5 {
        subject.write(20, 50_000).await;
        let created = subject.back_up(&repository, false).await;
        assert!(created.changes.is_some() && !created.gap && created.base.is_none());
    }
    assert_eq!(verify(&repository).await.unwrap().findings, []);
    for (at, snapshot) in subject.states.range(Revision::new(10)..).step_by(7) {
        let restored = restore(&repository, Target::Revision(*at)).await.unwrap();
        assert!(restored.entries == entries(snapshot), "at {at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_history_no_longer_has_is_told_and_a_base_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = subject(Retention { time_ms: 0, bytes: 0 });
    subject.write(10, 100).await;
    subject.back_up(&repository, true).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    subject.write(100, 1000).await;
    let created = subject.back_up(&repository, false).await;
    assert!(created.gap && created.changes.is_none());
    assert_eq!(created.base.unwrap().0.revision, Revision::new(110));
    let verified = verify(&repository).await.unwrap();
    assert_eq!(verified.findings, []);
    let alone = |at: u64| (Revision::new(at), Revision::new(at));
    assert_eq!(verified.reach, [alone(10), alone(110)]);
}
