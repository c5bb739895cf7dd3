//! Deliberately broken variants: each breaks one promise, at a seam, and the checkers must find it. They prove that a run without
//! a violation says something.
//!
//! Nothing here is reachable without `--broken`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use clap::ValueEnum;
use quorate_raft::disk::{Disk, File, Lock, MemoryDisk, Worker};
use quorate_store::{Error, HistoryError, NotApplied, Outcome, Revision, Snapshot, Status, Store, Txn, Watch};

/// A promise that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Broken {
    /// The log's disk answers syncs of files in use without carrying them out.
    LyingFsync,
    /// Reads are answered from whatever the node has, without asking a quorum.
    NoReadIndex,
    /// Every 31st batch of a watch is missing.
    DroppedEvent,
    /// A watch that is resumed gives its last batch again.
    RepeatedEvent,
    /// A transaction whose fate is unknown is called not applied.
    DeniedUnknown,
    /// Conditions of transactions are not checked.
    IgnoredConditions,
}

/// The disk that a log gets.
pub(crate) fn disk(broken: Option<Broken>, disk: MemoryDisk) -> Arc<dyn Disk> {
    match broken {
        Some(Broken::LyingFsync) => Arc::new(LyingDisk(disk)),
        _ => Arc::new(disk),
    }
}

/// The store that a node's clients get.
pub(crate) fn store(broken: Option<Broken>, store: Arc<dyn Store>) -> Arc<dyn Store> {
    match broken {
        Some(broken) => Arc::new(BrokenStore { store, broken }),
        None => store,
    }
}

/// What is wrong with one watch.
#[derive(Debug)]
pub(crate) struct WatchFault {
    broken: Option<Broken>,
    batches: u64,
}

impl WatchFault {
    pub(crate) fn new(broken: Option<Broken>) -> Self {
        Self { broken, batches: 0 }
    }

    /// Where the watch starts instead.
    pub(crate) fn start(&self, after: Revision) -> Revision {
        match self.broken {
            Some(Broken::RepeatedEvent) => Revision::new(after.get().saturating_sub(1)),
            _ => after,
        }
    }

    /// Whether the next batch is kept from the client.
    pub(crate) fn drops(&mut self) -> bool {
        self.batches += 1;
        self.broken == Some(Broken::DroppedEvent) && self.batches.is_multiple_of(31)
    }
}

struct BrokenStore {
    store: Arc<dyn Store>,
    broken: Broken,
}

#[async_trait]
impl Store for BrokenStore {
    async fn read_index(&self) -> Result<Revision, Error> {
        match self.broken {
            Broken::NoReadIndex => Ok(self.store.snapshot().revision()),
            _ => self.store.read_index().await,
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.store.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.store.applied(at).await;
    }

    async fn txn(&self, mut txn: Txn) -> Result<Outcome, Error> {
        if self.broken == Broken::IgnoredConditions {
            txn.conditions.clear();
        }
        match self.store.txn(txn).await {
            Err(Error::Unknown(reason)) if self.broken == Broken::DeniedUnknown => {
                Err(NotApplied::Unavailable(reason).into())
            }
            decided => decided,
        }
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}

#[derive(Debug)]
struct LyingDisk(MemoryDisk);

#[derive(Debug)]
struct LyingFile {
    file: Arc<dyn File>,
    honest_syncs: AtomicU64,
}

/// Syncs of a new file that are carried out, so that it is there after a crash with nothing in it.
const HONEST_SYNCS: u64 = 2;

fn lying(file: Arc<dyn File>, honest_syncs: u64) -> Arc<dyn File> {
    Arc::new(LyingFile { file, honest_syncs: AtomicU64::new(honest_syncs) })
}

#[async_trait]
impl File for LyingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    async fn sync_data(&self) -> io::Result<()> {
        let left = |left: u64| left.checked_sub(1);
        match self.honest_syncs.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left) {
            Ok(_) => self.file.sync_data().await,
            Err(_) => Ok(()),
        }
    }
}

impl Disk for LyingDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(directory)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(lying(self.0.create(path)?, HONEST_SYNCS))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(lying(self.0.open(path)?, 0))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        self.0.sync_dir(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.0.lock(path)
    }

    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()> {
        self.0.spawn(name, worker)
    }
}
