//! The source that reads and watches take changes from: the newest view, the history behind it, and
//! the hub that wakes watchers.
//!
//! Invariant: a view is immutable and complete: its ring ends with its snapshot's revision.
//! Publishing is in `view`.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::History;
use super::hub::Hub;
use super::ring::Ring;
use crate::{Batch, HistoryError, Revision, Snapshot};

/// The newest state and the changes that led to it.
pub(super) struct View {
    pub(super) snapshot: Snapshot,
    pub(super) ring: Ring,
}

/// What readers and watchers of one store share with its publisher.
pub(super) struct Source {
    view: ArcSwap<View>,
    pub(super) hub: Hub,
    pub(super) history: Arc<dyn History>,
}

impl Source {
    /// Shows this view first.
    pub(super) fn new(view: View, history: Arc<dyn History>) -> Self {
        Self { hub: Hub::new(view.snapshot.revision()), view: ArcSwap::from_pointee(view), history }
    }

    /// The newest view.
    pub(super) fn view(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    /// Shows a newer view. The caller announces it to the hub afterwards.
    pub(super) fn show(&self, view: View) {
        self.view.store(Arc::new(view));
    }

    /// The batches after a revision, from the ring if it has them; none when it is the newest. What is
    /// only kept for an archive as well.
    pub(super) fn changes(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let view = self.view();
        let newest = view.snapshot.revision();
        if after >= newest {
            return Ok(Vec::new());
        }
        let mut bytes = 0;
        let kept = view.ring.from(after.next()).take_while(|batch| {
            let first_or_fits = bytes < max_bytes;
            bytes += batch.footprint();
            first_or_fits && batch.revision <= newest
        });
        let batches: Vec<_> = kept.cloned().collect();
        match batches.is_empty() {
            true => self.shown(after, self.history.read_kept(after, max_bytes)?),
            false => Ok(batches),
        }
    }

    /// The next batches from the history, contiguous and shown by the view already; at least one,
    /// for the caller knows that the view shows something newer than `after`.
    pub(super) fn read_history(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        self.shown(after, self.history.read(after, max_bytes)?)
    }

    fn shown(
        &self,
        after: Revision,
        mut batches: Vec<Arc<Batch>>,
    ) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let shown = self.view().snapshot.revision();
        batches.truncate(batches.partition_point(|batch| batch.revision <= shown));
        let contiguous = batches
            .iter()
            .zip(after.get() + 1..)
            .all(|(batch, number)| batch.revision.get() == number);
        if batches.is_empty() || !contiguous {
            tracing::error!(%after, count = batches.len(), "the kept history has a gap");
            return Err(HistoryError::Unreadable);
        }
        Ok(batches)
    }
}
