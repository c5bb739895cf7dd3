//! What tests of the serving form share: a history, and a waker that counts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_store::{Batch, History, HistoryError, Revision};

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A history that keeps what the test says, and counts how often it is read.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) batches: Mutex<VecDeque<Arc<Batch>>>,
    pub(crate) reads: AtomicU64,
    oldest: AtomicU64,
    batch_bytes: usize,
}

impl Kept {
    /// An empty one, which takes each batch for one of so many bytes.
    pub(crate) fn new(batch_bytes: usize) -> Self {
        let (batches, reads, oldest) = Default::default();
        Self { batches, reads, oldest, batch_bytes }
    }

    pub(crate) fn drop_until(&self, oldest: Revision) {
        self.oldest.store(oldest.get(), Ordering::SeqCst);
        self.batches.lock().retain(|batch| batch.revision > oldest);
    }
}

impl History for Kept {
    fn oldest(&self) -> Revision {
        Revision::new(self.oldest.load(Ordering::SeqCst))
    }

    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let oldest = self.oldest();
        if after < oldest {
            return Err(HistoryError::Compacted { oldest });
        }
        let kept = self.batches.lock();
        let skip = kept.partition_point(|batch| batch.revision <= after);
        let count = (max_bytes / self.batch_bytes).max(1);
        Ok(kept.iter().skip(skip).take(count).cloned().collect())
    }
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Alarm(pub(crate) AtomicU64);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
