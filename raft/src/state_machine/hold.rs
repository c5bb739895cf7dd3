//! The hold of the history: what the journal keeps for an archive that is behind, beyond what is
//! retained.
//!
//! Invariants: nothing that watches and reads of the past are told depends on it, for it is this
//! member's alone; it takes no more than its limit, after which the archive has a gap, which is said.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use quorate_store::Revision;

use super::journal_frame::JournalFrame;

/// How far the archive is.
#[derive(Debug)]
pub(super) struct HistoryHold {
    /// The last revision that it has; the highest number while nothing is held.
    after: AtomicU64,
    /// Bytes of frames that are kept for it.
    limit: u64,
    is_over: AtomicBool,
}

impl HistoryHold {
    /// Of nothing yet.
    pub(super) fn new(limit: u64) -> Self {
        Self { after: AtomicU64::new(u64::MAX), limit, is_over: AtomicBool::new(false) }
    }

    /// What comes after this is wanted.
    pub(super) fn set(&self, after: Revision) {
        self.after.store(after.get(), Ordering::Relaxed);
    }

    /// After which revision the frames are needed: the oldest that is retained, or an older one.
    pub(super) fn bound(&self, frames: &VecDeque<JournalFrame>, oldest: Revision) -> Revision {
        let wanted = Revision::new(self.after.load(Ordering::Relaxed));
        let mut bytes = 0;
        let mut bound = oldest;
        let retained = frames.partition_point(|frame| frame.last <= oldest);
        for frame in frames.range(..retained).rev().take_while(|frame| frame.last > wanted) {
            bytes += frame.header.frame_bytes();
            if bytes > self.limit {
                if !self.is_over.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        after = %wanted,
                        bytes = self.limit,
                        "no more is kept for the archive, which is behind: it will have a gap"
                    );
                }
                return bound;
            }
            bound = frame.after;
        }
        self.is_over.store(false, Ordering::Relaxed);
        bound
    }
}
