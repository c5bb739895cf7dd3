//! A store in memory whose archive can be stopped, started, and hurt.

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use quorate_archive::{Archive, ArchiveOptions, Engine, FjallEngine};
use quorate_env::disk::SystemDisk;
use quorate_env::{Clock, SystemEnv};
use quorate_store::{
    Batch, History, HistoryError, MemoryOptions, MemoryStore, Operation, Revision, Serving,
    ServingOptions, State, Store, Txn,
};

/// The changes of a store from some revision on.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) batches: RwLock<Vec<Arc<Batch>>>,
    pub(crate) oldest: RwLock<Revision>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl History for Kept {
    fn oldest(&self) -> Revision {
        *self.oldest.read()
    }

    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let oldest = self.oldest();
        if after < oldest {
            return Err(HistoryError::Compacted { oldest });
        }
        let mut bytes = 0;
        let batches = self.batches.read();
        let fits = |batch: &&Arc<Batch>| {
            let first_or_fits = bytes < max_bytes;
            bytes += batch.footprint();
            first_or_fits
        };
        let skip = usize::try_from(after.get()).unwrap();
        Ok(batches[skip..].iter().take_while(fits).cloned().collect())
    }
}

/// A state that changes, and all that it ever was.
pub(crate) struct Subject {
    state: Mutex<State>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) serving: Serving,
}

impl Subject {
    pub(crate) fn new() -> Self {
        let state = State::new();
        let kept = Arc::new(Kept::default());
        let options = ServingOptions { ring_bytes: 2000, ..ServingOptions::default() };
        let serving = Serving::new(state.snapshot(), [], kept.clone(), options);
        Self { state: Mutex::new(state), kept, serving }
    }

    pub(crate) fn write(&self, time_ms: u64, operations: Vec<Operation>, origin: &str) {
        let mut state = self.state.lock();
        let origin = Bytes::copy_from_slice(origin.as_bytes());
        let applied = state.apply(time_ms, &Txn { operations, origin, ..Txn::default() });
        if let Some(batch) = applied.batch {
            self.kept.batches.write().push(batch.clone());
            self.serving.publish(state.snapshot(), &[batch]);
        }
    }

    pub(crate) fn archive(&self, options: ArchiveOptions) -> Running {
        Running(Archive::start(options, self.serving.clone()).unwrap())
    }
}

/// An archive that is closed in the end, so that its folder is left alone.
pub(crate) struct Running(Archive);

impl Deref for Running {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        futures::executor::block_on(self.0.close());
    }
}

pub(crate) fn options(engine: Arc<dyn Engine>) -> ArchiveOptions {
    let clock: Arc<dyn Clock> = Arc::new(SystemEnv);
    ArchiveOptions {
        retention: Duration::from_secs(1 << 40),
        bulk_wait: Duration::ZERO,
        bulk_bytes: 3000,
        slice_versions: 25,
        ..ArchiveOptions::new(engine, "a cluster".to_owned(), clock, Arc::new(SystemDisk))
    }
}

pub(crate) fn fjall(directory: &Path) -> Arc<dyn Engine> {
    Arc::new(FjallEngine::open(directory).unwrap())
}

/// Waits until something is so.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        pause();
    }
    panic!("never: {what}");
}

fn pause() {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    receiver.recv_timeout(Duration::from_millis(5)).ok();
}

pub(crate) fn wait_archived(archive: &Archive, subject: &Subject) {
    let newest = subject.serving.revision();
    wait("all is archived", || archive.status().archived == newest);
}

/// A transaction.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Key, and a value's length, or none for a deletion.
    pub(crate) operations: Vec<(u8, Option<u8>)>,
    pub(crate) pause_ms: u64,
}

/// Keys that are beginnings of others, and have bytes that are escaped.
pub(crate) fn key(number: u8) -> Bytes {
    let keys: [&[u8]; 12] = [
        b"o/a",
        b"o/a\0",
        b"o/a\0\0",
        b"o/a\0b",
        b"o/b",
        b"o/b/1",
        b"o/b/2",
        b"o/c",
        b"p",
        b"p/\xff",
        b"p/\xff\xff",
        b"q",
    ];
    Bytes::from_static(keys[usize::from(number)])
}

/// A clock that goes on when a test says so.
#[derive(Debug)]
pub(crate) struct Ticking(pub(crate) Mutex<u64>);

impl Clock for Ticking {
    fn now_ms(&self) -> u64 {
        *self.0.lock()
    }
}

/// A subject and the memory store, given the same.
pub(crate) struct Pair {
    pub(crate) subject: Subject,
    pub(crate) clock: Arc<Ticking>,
    pub(crate) model: MemoryStore,
    written: u32,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(Ticking(1000.into()));
        let model = MemoryStore::new(MemoryOptions::new(clock.clone()));
        Self { subject: Subject::new(), clock, model, written: 0 }
    }

    pub(crate) fn write(&mut self, step: &Step) {
        *self.clock.0.lock() += step.pause_ms;
        self.written += 1;
        let mut operations: Vec<Operation> = Vec::new();
        for (number, length) in &step.operations {
            let key = key(*number);
            if operations.iter().any(|operation| *operation.key() == key) {
                continue;
            }
            let value = |length| format!("{} {}", self.written, "x".repeat(length)).into();
            operations.push(match length {
                Some(length) => Operation::Put { key, value: value(usize::from(*length)) },
                None => Operation::Delete { key },
            });
        }
        let origin = format!("origin {}", self.written / 2);
        let txn =
            Txn { operations: operations.clone(), origin: origin.clone().into(), ..Txn::default() };
        futures::executor::block_on(self.model.txn(txn)).unwrap();
        self.subject.write(self.clock.now_ms(), operations, &origin);
    }
}
