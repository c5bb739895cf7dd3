//! The log in memory, shared by readers, Raft and the writer: ahead of the disk by what still waits
//! to be written.
//!
//! Invariants: never locked across a wait or a disk call; entries from the first recent one on are
//! served from memory, all others lie where the durable index says.

use super::index::Durable;
use super::recent_entries::RecentEntries;
use crate::types::{LogId, Vote};

/// Shared by the handle and the writer under one lock.
#[derive(Debug, Default)]
pub(super) struct SharedLog {
    /// The last purged entry.
    pub(super) purged: Option<LogId>,
    /// The last entry, or `purged`.
    pub(super) last: Option<LogId>,
    /// Recent entries.
    pub(super) tail: RecentEntries,
    /// What is on disk.
    pub(super) durable: Durable,
    /// The durable vote.
    pub(super) vote: Option<Vote>,
    /// The last committed position that Raft gave.
    pub(super) committed: Option<LogId>,
    /// Why nothing can be written any more.
    pub(super) failed: Option<String>,
}

impl SharedLog {
    /// The state right after recovery.
    pub(super) fn recovered(
        durable: Durable,
        vote: Option<Vote>,
        committed: Option<LogId>,
    ) -> Self {
        Self {
            purged: durable.purged,
            last: durable.last,
            durable,
            vote,
            committed,
            ..Self::default()
        }
    }

    /// The index of the first entry that can be read, and one past the last; equal when there is
    /// none.
    pub(super) fn bounds(&self) -> (u64, u64) {
        let end = self.last.map_or(0, |last| last.index + 1);
        let after_purge = self.purged.map_or(0, |purged| purged.index + 1);
        let oldest = self.durable.first().or(self.tail.first()).unwrap_or(end);
        (oldest.max(after_purge).min(end), end)
    }
}
