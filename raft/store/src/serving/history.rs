//! The [`History`] trait: the source of changes that are no longer in memory.
//!
//! Invariant: a history holds every batch after [`History::oldest`] up to the newest published one,
//! without gaps. What it drops and when is the implementation's business ([`crate::Retention`]). It may
//! keep more for an archive, which no watch sees.

use std::fmt;
use std::sync::Arc;

use crate::{Batch, HistoryError, Revision};

/// The kept changes of a store.
pub trait History: Send + Sync + fmt::Debug + 'static {
    /// The oldest state that can be read exactly, and after which a watch can start: the revision
    /// just before the oldest kept batch.
    fn oldest(&self) -> Revision;

    /// Kept batches after `after`, in order and contiguous, until `max_bytes` of
    /// [`Batch::footprint`] are reached: at least one if there is any, none if `after` is the
    /// newest.
    ///
    /// # Errors
    /// [`HistoryError::Compacted`] when the batch right after `after` is gone;
    /// [`HistoryError::Unreadable`].
    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError>;

    /// The revision just before the oldest batch that [`History::read_kept`] gives: [`History::oldest`]
    /// or an older one.
    fn kept(&self) -> Revision {
        self.oldest()
    }

    /// As [`History::read`], back to [`History::kept`].
    ///
    /// # Errors
    /// Those of [`History::read`].
    fn read_kept(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.read(after, max_bytes)
    }

    /// An archive has everything up to this revision and not what comes after it, which is to be kept
    /// for it, within a limit.
    fn hold(&self, _after: Revision) {}
}
