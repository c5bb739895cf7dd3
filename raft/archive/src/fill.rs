//! A fill: transactions of another member on their way to the writer, and what became of them.
//!
//! Invariant: one fill is under way at most. The writer alone puts them into the archive.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_store::{Batch, Gap, Revision};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::source::SourceError;

/// Fills that wait for the writer.
pub(crate) const MAX_FILLS: usize = 1;

/// Consecutive transactions that are missing.
pub(crate) struct Fill {
    pub(crate) batches: Vec<Arc<Batch>>,
    /// The range of the batches.
    pub(crate) range: Gap,
    /// When the revision before them was.
    pub(crate) after_ms: u64,
    /// They go on where an earlier fill has ended.
    pub(crate) is_continued: bool,
    pub(crate) done: oneshot::Sender<Result<(), FillError>>,
}

/// Why nothing was filled.
#[derive(Debug, Error)]
pub(crate) enum FillError {
    /// The member gave nothing.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What it gave cannot be the past of this cluster.
    #[error("{0}")]
    Refused(String),
    /// Nothing that both have says whether its history is this one's.
    #[error("nothing tells whether its history is this one's")]
    Unproven,
    /// The archive has changed meanwhile.
    #[error("the archive has changed")]
    Overtaken,
    /// The archive's own disk.
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// What was filled since the start.
#[derive(Debug, Default)]
pub(crate) struct FillCounts {
    /// Bytes of keys and values.
    pub(crate) bytes: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// The newest revision that was dropped for want of room: nothing up to it is filled again.
    dropped: AtomicU64,
}

impl FillCounts {
    /// This was dropped for want of room.
    pub(crate) fn note_dropped(&self, last: Revision) {
        self.dropped.fetch_max(last.get(), Ordering::Relaxed);
    }

    /// The newest revision for which there was no room.
    pub(crate) fn dropped(&self) -> Revision {
        Revision::new(self.dropped.load(Ordering::Relaxed))
    }

    /// Counts what was filled.
    pub(crate) fn add(&self, transactions: usize, bytes: u64) {
        self.transactions.fetch_add(transactions as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
