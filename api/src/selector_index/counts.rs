//! What is counted of indexes, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the indexes of a node have come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SelectorIndexCounts {
    /// Indexes that there are.
    pub(crate) indexes: u64,
    /// Their bytes when they were last used.
    pub(crate) bytes: u64,
    /// Indexes that were made.
    pub(crate) built: u64,
    /// Indexes that would have been too large, or were not current when they were made.
    pub(crate) refused: u64,
    /// Lists that were looked up.
    pub(crate) used: u64,
    /// Lists of large parts of collections that an index could have answered and none did.
    pub(crate) scanned: u64,
}

/// The counters of them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) built: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) used: AtomicU64,
    pub(super) scanned: AtomicU64,
}

impl Counters {
    pub(super) fn add_one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, besides what is there at this moment.
    pub(super) fn read(&self) -> SelectorIndexCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SelectorIndexCounts {
            built: read(&self.built),
            refused: read(&self.refused),
            used: read(&self.used),
            scanned: read(&self.scanned),
            ..SelectorIndexCounts::default()
        }
    }
}
