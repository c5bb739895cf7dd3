//! Counts of the snapshots that other members send to this one: begun and ended since the start.
//!
//! Invariant: every snapshot that has begun ends, however its transfer ends.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts.
#[derive(Debug, Default)]
pub(super) struct SnapshotInstalls {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A snapshot that is being received or installed.
pub(super) struct SnapshotInstall<'a>(&'a SnapshotInstalls);

impl SnapshotInstalls {
    /// Counts one that begins; it ends when the guard is dropped.
    pub(super) fn begin(&self) -> SnapshotInstall<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        SnapshotInstall(self)
    }

    /// How many have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether one is under way.
    pub(super) fn under_way(&self) -> bool {
        self.ended.load(Ordering::Relaxed) < self.begun()
    }
}

impl Drop for SnapshotInstall<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
