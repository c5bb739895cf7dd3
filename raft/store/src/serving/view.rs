//! [`Serving`]: one publisher and any number of readers, none of which waits for another.
//!
//! Invariants: views are published in revision order; a client that was given a revision (by an
//! outcome, an event or `applied`) finds it in the view.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::past_snapshots::PastSnapshots;
use super::ring::RingWriter;
use super::source::{Source, View};
use super::waiters::Waiters;
use super::{History, Watch};
use crate::{Batch, HistoryError, Revision, Snapshot};

/// Recent changes kept in memory by default, in bytes of [`Batch::footprint`].
pub const DEFAULT_RING_BYTES: usize = 32 << 20;
/// Older states that are remembered, the most recently used, by default.
const DEFAULT_REMEMBERED_SNAPSHOTS: usize = 16;

/// How much memory serving may take besides the state itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingOptions {
    /// Recent changes kept in memory, in bytes of [`Batch::footprint`]. At least the newest are
    /// kept, however large.
    pub ring_bytes: usize,
    /// Older states that are remembered, count. With 0 each read of the past is made from the
    /// history.
    pub remembered_snapshots: usize,
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self { ring_bytes: DEFAULT_RING_BYTES, remembered_snapshots: DEFAULT_REMEMBERED_SNAPSHOTS }
    }
}

/// The serving form of a store on one node. Clones share everything.
#[derive(Clone)]
pub struct Serving {
    source: Arc<Source>,
    shared: Arc<Shared>,
}

/// What clones share besides the source.
#[derive(Debug)]
struct Shared {
    past: PastSnapshots,
    waiters: Waiters,
    publisher: Mutex<RingWriter>,
}

impl Serving {
    /// Serves this state. `recent` are the changes that led to it, in order; those that do not lead
    /// up to it are ignored. Older ones, and those that do not fit, are read from `history`.
    #[must_use]
    pub fn new(
        snapshot: Snapshot,
        recent: impl IntoIterator<Item = Arc<Batch>>,
        history: Arc<dyn History>,
        options: ServingOptions,
    ) -> Self {
        let mut writer = RingWriter::new(options.ring_bytes);
        recent.into_iter().for_each(|batch| writer.push(&batch));
        if writer.newest() != Some(snapshot.revision()) {
            writer.clear();
        }
        let source = Source::new(View { snapshot, ring: writer.ring() }, history);
        let shared = Shared {
            past: PastSnapshots::new(options.remembered_snapshots),
            waiters: Waiters::default(),
            publisher: Mutex::new(writer),
        };
        Self { source: Arc::new(source), shared: Arc::new(shared) }
    }

    /// Shows a newer state with the batches that led to it from the state shown before: contiguous
    /// and in order. The history holds them already. Costs little while nothing is watched. One
    /// call at a time makes sense; more would wait.
    pub fn publish(&self, snapshot: Snapshot, batches: &[Arc<Batch>]) {
        let mut ring = self.shared.publisher.lock();
        let revision = snapshot.revision();
        debug_assert!(
            batches.last().is_none_or(|batch| batch.revision == revision),
            "batches lead to the state"
        );
        batches.iter().for_each(|batch| ring.push(batch));
        self.source.show(View { snapshot, ring: ring.ring() });
        self.source.hub.publish(batches);
        self.shared.waiters.release(revision);
    }

    /// Shows a state that was not reached through batches (a snapshot of another node was
    /// installed). Watches go on when the history covers what they have not seen, and end as
    /// compacted otherwise.
    pub fn reset(&self, snapshot: Snapshot) {
        let mut ring = self.shared.publisher.lock();
        let revision = snapshot.revision();
        ring.clear();
        self.shared.past.clear();
        self.source.show(View { snapshot, ring: ring.ring() });
        self.source.hub.reset(revision);
        self.shared.waiters.release(revision);
    }

    /// The newest state. A few nanoseconds.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.source.view().snapshot.clone()
    }

    /// The newest state's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.source.view().snapshot.revision()
    }

    /// The oldest revision that can be read exactly.
    #[must_use]
    pub fn oldest(&self) -> Revision {
        self.source.history.oldest()
    }

    /// The state at exactly this revision. Costs one step per change since then, the first time; a
    /// few such states are remembered, so that the pages of a list are cheap.
    ///
    /// # Errors
    /// Any [`HistoryError`].
    pub fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.shared.past.at(at, &self.source)
    }

    /// The changes after a revision in their order, contiguous, about `max_bytes` of
    /// [`Batch::footprint`] and at least one; none when it is the newest. From memory while the ring
    /// has them, from the history otherwise, whose reading takes its caller's thread.
    ///
    /// # Errors
    /// [`HistoryError::Compacted`] when it is older than [`Serving::kept`].
    pub fn changes(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.source.changes(after, max_bytes)
    }

    /// The oldest revision after which [`Serving::changes`] gives the changes: what is kept for an
    /// archive counts.
    #[must_use]
    pub fn kept(&self) -> Revision {
        self.source.history.kept()
    }

    /// An archive has everything up to this revision. What comes after it is kept for it, within a
    /// limit.
    pub fn hold(&self, after: Revision) {
        self.source.history.hold(after);
    }

    /// When the newest change was, milliseconds since the Unix epoch, if it is still in memory.
    #[must_use]
    pub fn newest_ms(&self) -> Option<u64> {
        let view = self.source.view();
        Some(view.ring.from(view.snapshot.revision()).next()?.time_ms)
    }

    /// Returns once [`Serving::snapshot`] shows this revision or a newer one.
    pub async fn applied(&self, at: Revision) {
        self.shared.waiters.wait(at, || self.revision()).await;
    }

    /// Every batch after `after` that changes a key with this prefix.
    ///
    /// # Errors
    /// [`HistoryError::Compacted`] when `after` is older than [`Serving::oldest`].
    pub fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        let oldest = self.oldest();
        if after < oldest {
            return Err(HistoryError::Compacted { oldest });
        }
        Ok(Watch::new(Arc::clone(&self.source), prefix, after))
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("revision", &self.revision()).finish_non_exhaustive()
    }
}
