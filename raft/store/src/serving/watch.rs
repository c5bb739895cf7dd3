//! A watch: a cursor over the changes, fed from the ring, from the history behind it, or by
//! waiting.
//!
//! Invariants: every batch after the starting revision that touches the prefix, and may concern the
//! watch when it is narrowed, is given exactly once, in order; the cursor is the newest revision up to which nothing is owed. A watcher owns a
//! cursor and, only while it reads old history, one bounded chunk of it; there is no queue that a
//! slow one could fill. Dropping the future of [`Watch::next`] loses nothing.
//!
//! Why there is no gap: a step reads the announced revision, then the topic's `touched`. When that
//! is at most the cursor, nothing up to the announced revision is owed. Otherwise the view, which
//! is published before any of this, shows the batch. What a narrowed topic was touched by is known
//! before `touched` is raised, so that going on to the next touch passes over nothing that is owed.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::vec;

use bytes::Bytes;

use super::narrowing::Narrowing;
use super::source::Source;
use super::topic::{Cell, Topic};
use crate::{Batch, Event, HistoryError, Revision};

/// History that a watcher which fell behind reads at a time, in bytes of [`Batch::footprint`].
const CHUNK_BYTES: usize = 256 << 10;
/// Batches of the ring that a watcher looks through before it lets other tasks run.
const SCAN_BATCHES: usize = 1024;

/// A running watch; see [`crate::Store::watch`].
pub struct Watch {
    source: Arc<Source>,
    prefix: Bytes,
    narrowing: Option<Narrowing>,
    topic: Arc<Topic>,
    cell: Arc<Cell>,
    cursor: Revision,
    chunk: vec::IntoIter<Arc<Batch>>,
    chunk_end: Revision,
}

/// The changes of one transaction, as far as they concern a watch. Clones share everything.
#[derive(Clone)]
pub struct WatchBatch {
    prefix: Bytes,
    batch: Arc<Batch>,
}

enum Step {
    Found(WatchBatch),
    Looking,
    UpToDate,
}

impl Watch {
    pub(super) fn new(source: Arc<Source>, prefix: Bytes, after: Revision) -> Self {
        let topic = source.hub.join(&prefix, None, || source.view().snapshot.revision());
        let (cell, chunk) = (Arc::default(), Vec::new().into_iter());
        let (narrowing, cursor, chunk_end) = (None, after, Revision::ZERO);
        Self { source, prefix, narrowing, topic, cell, cursor, chunk, chunk_end }
    }

    /// The same watch, which gives and is woken by batches with a change that may concern it only:
    /// one of a value that had one of the terms, has one, or has terms that are not known. For a
    /// watch that has given nothing yet.
    #[must_use]
    pub fn narrowed(mut self, narrowing: Narrowing) -> Self {
        let (source, narrowing) = (Arc::clone(&self.source), Some(narrowing));
        let newest = || source.view().snapshot.revision();
        let topic = source.hub.join(&self.prefix, narrowing.as_ref(), newest);
        let whole = std::mem::replace(&mut self.topic, topic);
        let before = std::mem::replace(&mut self.narrowing, narrowing);
        source.hub.leave(&self.prefix, before.as_ref(), &whole, &self.cell);
        self.cell = Arc::default();
        self
    }

    /// The next batch that touches the prefix; waits for it. Safe to cancel.
    ///
    /// # Errors
    /// [`HistoryError::Compacted`] when the watcher was so slow that what it needs next is no
    /// longer kept, and [`HistoryError::Unreadable`]. The watch is of no use after an error.
    pub async fn next(&mut self) -> Result<WatchBatch, HistoryError> {
        loop {
            // Waits only before a step: what a step has found is given at once, or cancelling would
            // lose it.
            tokio::task::coop::consume_budget().await;
            match self.step()? {
                Step::Found(batch) => return Ok(batch),
                Step::Looking => tokio::task::yield_now().await,
                Step::UpToDate => self.changed().await,
            }
        }
    }

    /// The next batch if there is one now.
    ///
    /// # Errors
    /// As [`Watch::next`].
    pub fn try_next(&mut self) -> Result<Option<WatchBatch>, HistoryError> {
        loop {
            match self.step()? {
                Step::Found(batch) => return Ok(Some(batch)),
                Step::Looking => {}
                Step::UpToDate => return Ok(None),
            }
        }
    }

    /// The newest revision up to which everything has been given: for bookmarks. Advances with the
    /// store, also while nothing touches the prefix; never goes back.
    pub fn position(&mut self) -> Revision {
        self.up_to_date();
        self.cursor
    }

    /// Goes on after `revision`, for a caller that got everything up to there from another watch of
    /// the same prefix. Never goes back.
    pub fn skip_to(&mut self, revision: Revision) {
        let skipped = self.chunk.as_slice().partition_point(|batch| batch.revision <= revision);
        self.chunk.by_ref().take(skipped).for_each(drop);
        self.cursor = self.cursor.max(revision);
    }

    /// What is watched.
    #[must_use]
    pub fn prefix(&self) -> &Bytes {
        &self.prefix
    }

    fn step(&mut self) -> Result<Step, HistoryError> {
        if let Some(batch) = self.chunk.next() {
            return Ok(self.found(batch));
        }
        if self.up_to_date() {
            return Ok(Step::UpToDate);
        }
        self.look_through_ring().map_or_else(|| self.read_history(), Ok)
    }

    /// Moves the cursor as far as is known without looking at batches; true when nothing is owed.
    fn up_to_date(&mut self) -> bool {
        if self.chunk.len() > 0 {
            return false;
        }
        self.cursor = self.cursor.max(self.chunk_end).max(self.cell.quiet_until());
        let announced = self.source.hub.announced();
        let up_to_date = self.topic.touched() <= self.cursor;
        if up_to_date {
            self.cursor = self.cursor.max(announced);
        } else if let Some(next) = self.topic.next_touch(self.cursor) {
            let before = Revision::new(next.get().saturating_sub(1));
            self.cursor = self.cursor.max(before.min(announced));
        }
        up_to_date
    }

    /// None when the ring does not reach back to the cursor.
    fn look_through_ring(&mut self) -> Option<Step> {
        let view = self.source.view();
        let shown = view.snapshot.revision();
        let mut batches = view
            .ring
            .from(self.cursor.next())
            .take_while(|batch| batch.revision <= shown)
            .peekable();
        batches.peek()?;
        for batch in batches.take(SCAN_BATCHES) {
            if self.concerns(batch) {
                return Some(self.found(Arc::clone(batch)));
            }
            self.cursor = batch.revision;
        }
        Some(Step::Looking)
    }

    fn read_history(&mut self) -> Result<Step, HistoryError> {
        let mut batches = self.source.read_history(self.cursor, CHUNK_BYTES)?;
        self.chunk_end = batches.last().map_or(self.cursor, |batch| batch.revision);
        batches.retain(|batch| self.concerns(batch));
        self.chunk = batches.into_iter();
        Ok(Step::Looking)
    }

    fn concerns(&self, batch: &Batch) -> bool {
        match &self.narrowing {
            None => batch.touches(&self.prefix),
            Some(narrowing) => batch
                .events
                .iter()
                .any(|event| event.key.starts_with(&self.prefix) && narrowing.concerns(event)),
        }
    }

    fn found(&mut self, batch: Arc<Batch>) -> Step {
        self.cursor = batch.revision;
        Step::Found(WatchBatch { prefix: self.prefix.clone(), batch })
    }

    async fn changed(&self) {
        poll_fn(|context| {
            self.cell.register(context.waker());
            if self.topic.park(&self.cell, self.cursor) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.source.hub.leave(&self.prefix, self.narrowing.as_ref(), &self.topic, &self.cell);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("prefix", &self.prefix)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl WatchBatch {
    /// The transaction's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.batch.revision
    }

    /// The transaction's time, milliseconds since the Unix epoch.
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.batch.time_ms
    }

    /// The changes of keys with the watched prefix: at least one.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.batch.events.iter().filter(|event| event.key.starts_with(&self.prefix))
    }

    /// The whole transaction, shared with every other watcher.
    #[must_use]
    pub fn batch(&self) -> &Arc<Batch> {
        &self.batch
    }
}

impl fmt::Debug for WatchBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: Vec<_> = self.events().collect();
        f.debug_struct("WatchBatch")
            .field("revision", &self.revision())
            .field("events", &events)
            .finish()
    }
}
