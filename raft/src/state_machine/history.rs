//! The history on disk and on its way there, as the serving form reads it when its own memory does
//! not reach back far enough.
//!
//! Invariants: a read gives consecutive batches without a gap, or an error; it never gives a batch
//! that is not published yet. Reads run beside the applier and never wait for it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use quorate_store::{Batch, History, HistoryError, Revision};

use super::hold::HistoryHold;
use super::journal::Journal;
use super::record;
use super::saver;

/// The current generation's history and its bounds.
pub(super) struct DiskHistory {
    journal: ArcSwap<Journal>,
    oldest: AtomicU64,
    newest: AtomicU64,
    unsaved: Arc<saver::SaverShared>,
    hold: Arc<HistoryHold>,
}

impl DiskHistory {
    /// The history in this journal, with these bounds (oldest and newest), and what is on its way
    /// there.
    pub(super) fn new(
        journal: Arc<Journal>,
        (oldest, newest): (Revision, Revision),
        unsaved: Arc<saver::SaverShared>,
        hold: Arc<HistoryHold>,
    ) -> Self {
        Self {
            journal: ArcSwap::from(journal),
            oldest: AtomicU64::new(oldest.get()),
            newest: AtomicU64::new(newest.get()),
            unsaved,
            hold,
        }
    }

    /// New bounds, after the saver has taken a group of entries and before it is published.
    pub(super) fn advance(&self, oldest: Revision, newest: Revision) {
        self.oldest.store(oldest.get(), Ordering::Release);
        self.newest.store(newest.get(), Ordering::Release);
    }

    /// Another generation, before it is published. Its bound comes first: a reader that finds the
    /// new journal and misses what only the old one had then knows why.
    pub(super) fn replace(&self, journal: Arc<Journal>, oldest: Revision, newest: Revision) {
        self.oldest.store(oldest.get(), Ordering::Release);
        self.journal.store(journal);
        self.newest.store(newest.get(), Ordering::Release);
    }

    fn collect(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, ReadError> {
        let newest = self.newest.load(Ordering::Acquire);
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut expected = after.next();
        while expected.get() <= newest && bytes < max_bytes {
            let read = match self.unsaved.unsaved(expected) {
                Some(unsaved) => take_unsaved(unsaved, expected, newest)?,
                None => self.collect_saved(expected, newest, max_bytes - bytes)?,
            };
            bytes += read.iter().map(|batch| batch.footprint()).sum::<usize>();
            expected = read.last().ok_or(ReadError::Missing(expected))?.revision.next();
            batches.extend(read);
        }
        Ok(batches)
    }

    /// What is on disk from here on; may end before the newest, where the rest is on its way.
    fn collect_saved(
        &self,
        first: Revision,
        newest: u64,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, ReadError> {
        let journal = self.journal.load();
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut expected = first;
        while expected.get() <= newest
            && let Some(frame) = journal.frame_of(expected)
        {
            let opened = frame.read().map_err(ReadError::Storage)?;
            let from = expected;
            for (revision, record) in opened.records().skip_while(|(revision, _)| *revision < from)
            {
                if revision.get() > newest || bytes >= max_bytes {
                    return Ok(batches);
                }
                let batch = record::decode_history(revision, &record)
                    .ok_or(ReadError::Damaged(revision))?;
                bytes += batch.footprint();
                batches.push(Arc::new(batch));
                expected = revision.next();
            }
        }
        Ok(batches)
    }
}

/// Those of them that are published; they must begin where they should.
fn take_unsaved(
    mut unsaved: Vec<Arc<Batch>>,
    first: Revision,
    newest: u64,
) -> Result<Vec<Arc<Batch>>, ReadError> {
    unsaved.truncate(unsaved.partition_point(|batch| batch.revision.get() <= newest));
    let begins = unsaved.first().is_some_and(|batch| batch.revision == first);
    if begins { Ok(unsaved) } else { Err(ReadError::Missing(first)) }
}

impl History for DiskHistory {
    fn oldest(&self) -> Revision {
        Revision::new(self.oldest.load(Ordering::Acquire))
    }

    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.read_back_to(Self::oldest, after, max_bytes)
    }

    /// A journal that has no frame yet keeps nothing, but what is on its way there is kept. That is
    /// looked at first: a save that ends meanwhile leaves a frame.
    fn kept(&self) -> Revision {
        let oldest = self.oldest();
        let unsaved = self.unsaved.unsaved_after();
        let first = self.journal.load().begins_after().or(unsaved);
        first.map_or(oldest, |first| first.min(oldest))
    }

    fn read_kept(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.read_back_to(Self::kept, after, max_bytes)
    }

    fn hold(&self, after: Revision) {
        self.hold.set(after);
    }
}

impl DiskHistory {
    fn read_back_to(
        &self,
        oldest: impl Fn(&Self) -> Revision,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let result = self.collect(after, max_bytes);
        // Only now: what was read may have been dropped or replaced meanwhile.
        let oldest = oldest(self);
        if after < oldest {
            return Err(HistoryError::Compacted { oldest });
        }
        result.map_err(|error| {
            tracing::error!(%after, %error, "cannot read the history");
            HistoryError::Unreadable
        })
    }
}

impl fmt::Debug for DiskHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskHistory")
            .field("oldest", &self.oldest)
            .field("newest", &self.newest)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("{0}")]
    Storage(std::io::Error),
    #[error("revision {0} is missing")]
    Missing(Revision),
    #[error("the record of revision {0} is damaged")]
    Damaged(Revision),
}
