//! openraft's own suite for log stores, on the real disk and on the one in memory, with a state
//! machine that remembers just enough for the parts of the suite that need one.

use std::io::{self, Cursor};
use std::sync::{Arc, Mutex};

use futures::{Stream, TryStreamExt};
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::{EntryPayload, OptionalSend, StorageError};
use quorate_env::Fatal;
use quorate_env::disk::{Disk, MemoryDisk, SystemDisk};
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::types::{LogId, Response, SnapshotMeta, StoredMembership, TypeConfig};

use super::support::{IDENTITY, SEGMENT};

type Snapshot = openraft::alias::SnapshotOf<TypeConfig, Cursor<Vec<u8>>>;

/// Remembers what it has applied and nothing of the content.
#[derive(Debug, Clone, Default)]
struct Machine {
    applied: Option<LogId>,
    membership: StoredMembership,
    snapshot: Arc<Mutex<Option<SnapshotMeta>>>,
}

impl RaftSnapshotBuilder<TypeConfig> for Machine {
    type SnapshotData = Cursor<Vec<u8>>;

    async fn build_snapshot(&mut self) -> Result<Snapshot, io::Error> {
        let meta =
            SnapshotMeta { last_log_id: self.applied, last_membership: self.membership.clone() };
        *self.snapshot.lock().unwrap() = Some(meta.clone());
        Ok(Snapshot { meta, snapshot: Cursor::default() })
    }
}

impl RaftStateMachine<TypeConfig> for Machine {
    type SnapshotData = Cursor<Vec<u8>>;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), io::Error> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> Result<(), io::Error>
    where
        S: Stream<Item = Result<EntryResponder<TypeConfig>, io::Error>> + Unpin + OptionalSend,
    {
        while let Some((entry, responder)) = entries.try_next().await? {
            self.applied = Some(entry.log_id);
            if let EntryPayload::Membership(membership) = entry.payload {
                self.membership = StoredMembership::new(Some(entry.log_id), membership);
            }
            if let Some(responder) = responder {
                responder.send(Response::default());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        _: Cursor<Vec<u8>>,
    ) -> Result<(), io::Error> {
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        *self.snapshot.lock().unwrap() = Some(meta.clone());
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, io::Error> {
        Ok(self
            .snapshot
            .lock()
            .unwrap()
            .clone()
            .map(|meta| Snapshot { meta, snapshot: Cursor::default() }))
    }
}

/// A new folder for each store of the suite.
struct Real;
struct InMemory;

impl StoreBuilder<TypeConfig, Log, Machine, tempfile::TempDir> for Real {
    async fn build(&self) -> Result<(tempfile::TempDir, Log, Machine), StorageError<TypeConfig>> {
        let folder = tempfile::tempdir().unwrap();
        let log = open(Arc::new(SystemDisk), folder.path().join("log")).await;
        Ok((folder, log, Machine::default()))
    }
}

impl StoreBuilder<TypeConfig, Log, Machine> for InMemory {
    async fn build(&self) -> Result<((), Log, Machine), StorageError<TypeConfig>> {
        Ok(((), open(Arc::new(MemoryDisk::new()), "/log".into()).await, Machine::default()))
    }
}

/// Without a tail, so that the suite reads from the segments.
async fn open(disk: Arc<dyn Disk>, directory: std::path::PathBuf) -> Log {
    let mut options = LogOptions::new(disk, directory, IDENTITY, Fatal::new());
    options.segment_bytes = SEGMENT;
    options.first_segment_bytes = SEGMENT;
    options.tail_bytes = 0;
    Log::open(options).await.unwrap()
}

#[test]
fn openraft_suite_on_the_real_disk() {
    tokio::runtime::Runtime::new().unwrap().block_on(Suite::test_all(Real)).unwrap();
}

#[test]
fn openraft_suite_on_the_disk_in_memory() {
    super::support::block_on(async { Suite::test_all(InMemory).await.unwrap() });
}
