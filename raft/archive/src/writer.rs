//! The writer: takes the changes that the store serves into the archive, and drops what is too old.
//!
//! It follows the store as a watcher does: what is newer than the archive is read from the store's
//! ring in memory, or from the journal when the archive is far behind, which keeps it that long. So
//! nothing waits in memory for the archive, and the task that applies does not know of it. A bulk is
//! as much as has come within [`crate::BULK_WAIT`], or [`crate::BULK_BYTES`].
//!
//! Invariants: bulks follow each other without a gap, unless the journal has lost what comes next,
//! which is said (after a long stop the journal may drop what was there before with the first new
//! change, so a start archives what waits, and so does a stop); a slice that is full, or an era, is not written again. What fails is tried again
//! later, and nothing else waits for it.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future;
use quorate_store::{Batch, Revision, Serving};
use tokio::sync::mpsc;

use crate::bulk::Bulk;
use crate::contents::Contents;
use crate::era::Era;
use crate::fill::{Fill, FillError};
use crate::options::ArchiveOptions;
use crate::received::{check_changes, is_same_batch};
use crate::record::{FORMAT, SliceInfo};
use crate::rewrite::Rewriter;
use crate::shared::{Shared, is_damage};
use crate::slice::Slice;

/// Between two looks for something to do.
const TICK: Duration = Duration::from_millis(500);
/// The same where changes are archived sooner.
const SHORTEST_TICK: Duration = Duration::from_millis(5);
/// So many ticks a failed bulk waits.
const RETRY_TICKS: u32 = 10;
/// Bulks that a start archives before anything else happens.
pub(crate) const START_BULKS: usize = 2;
/// Into how many eras the retention is divided.
const ERAS_PER_RETENTION: u64 = 12;
/// Into how many eras the bytes are divided, at least.
const ERAS_PER_BYTES: u64 = 8;

/// The writer of an archive.
pub(crate) struct Writer {
    pub(crate) options: ArchiveOptions,
    pub(crate) serving: Serving,
    pub(crate) shared: Arc<Shared>,
    /// The archive's end was compared with the journal.
    pub(crate) is_joined: bool,
    pub(crate) rewriter: Rewriter,
    /// How long something has waited, as the writer's own pauses count it: clocks jump.
    pub(crate) waited: Option<Duration>,
    /// The name of an era that takes nothing more.
    pub(crate) full_era: Option<String>,
    /// What another member gave ([`crate::backfill`]).
    pub(crate) fills: mpsc::Receiver<Fill>,
}

impl Writer {
    /// Works until the archive is closed.
    pub(crate) async fn run(mut self) {
        self.options.engine.give_way();
        let tick = TICK.min(self.options.bulk_wait.max(SHORTEST_TICK));
        let mut wait = tick;
        while !self.pause(wait).await {
            self.drop_damaged();
            let stepped = self.step();
            let has_failed = stepped.is_err();
            wait = match stepped {
                Ok(true) => Duration::ZERO,
                Ok(false) => tick,
                Err(error) => {
                    self.note_failure(&error);
                    tick * RETRY_TICKS
                }
            };
            self.fill();
            self.expire();
            if !has_failed && self.rewrite() {
                wait = Duration::ZERO;
            }
        }
        self.catch_up(1);
    }

    /// Waits that long, or until the archive is closed. True when it is.
    async fn pause(&mut self, time: Duration) -> bool {
        let closing = pin!(self.shared.closing.cancelled());
        future::select(closing, self.options.disk.pause(time)).await;
        self.waited = self.waited.map(|waited| waited.saturating_add(time));
        self.shared.closing.is_cancelled()
    }

    /// Writes an era anew that has what was purged. True when another one may have it too.
    fn rewrite(&mut self) -> bool {
        let purges = self.shared.purges(&self.serving);
        match self.rewriter.step(&self.options, &self.shared, &purges) {
            Ok(more) => more,
            // Room is made as for a bulk.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                self.note_failure(&error);
                false
            }
            Err(error) => {
                self.shared.count_failure();
                tracing::warn!(%error, "what was purged is still on the disk; it is tried again");
                false
            }
        }
    }

    /// Archives what waits, so many bulks at most, however short it has waited.
    pub(crate) fn catch_up(&mut self, bulks: usize) {
        for _ in 0..bulks {
            self.waited = Some(Duration::MAX);
            match self.step() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.note_failure(&error),
            }
        }
    }

    /// Archives the next bulk, if it is time. True when more is waiting.
    fn step(&mut self) -> io::Result<bool> {
        let newest = self.serving.revision();
        let archived = self.shared.contents().archived;
        if newest < archived {
            // The log supplies the rest after a crash.
            return Ok(false);
        }
        self.join();
        self.skip_what_is_lost();
        let archived = self.shared.contents().archived;
        if newest <= archived {
            self.waited = None;
            return Ok(false);
        }
        let read = self.serving.changes(archived, self.options.bulk_bytes);
        let batches = read.map_err(|error| io::Error::other(error.to_string()))?;
        let purges = self.shared.purges(&self.serving);
        let batches: Vec<_> = batches.iter().map(|batch| purges.purge_batch(batch)).collect();
        let bytes: usize = batches.iter().map(|batch| batch.footprint()).sum();
        let has_waited = *self.waited.get_or_insert_default() >= self.options.bulk_wait;
        let is_full = bytes >= self.options.bulk_bytes;
        if batches.is_empty() || !(is_full || has_waited) {
            return Ok(false);
        }
        self.archive(&batches)?;
        self.serving.hold(self.shared.contents().archived);
        self.waited = None;
        Ok(is_full)
    }

    fn archive(&self, batches: &[Arc<Batch>]) -> io::Result<()> {
        let mut contents = Contents::clone(&self.shared.contents());
        let after_ms = match contents.archived == Revision::ZERO {
            true => 0,
            false => batches[0].time_ms,
        };
        let slice = self.slice_for(&contents, (contents.archived, after_ms), &batches[0])?;
        let (slice, written) = write(&slice, batches)?;
        contents.archived = slice.info.last;
        contents.put(slice);
        self.shared.publish(contents);
        self.shared.written.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }

    /// Takes in what another member gave, if something waits.
    fn fill(&mut self) {
        let Ok(fill) = self.fills.try_recv() else { return };
        let filled = self.take_in(&fill);
        // Without a receiver the back-fill has ended.
        fill.done.send(filled).ok();
    }

    fn take_in(&self, fill: &Fill) -> Result<(), FillError> {
        let Fill { batches, range, after_ms, is_continued, .. } = fill;
        let purges = self.shared.purges(&self.serving);
        let batches: Vec<_> = batches.iter().map(|batch| purges.purge_batch(batch)).collect();
        let mut contents = Contents::clone(&self.shared.contents());
        let is_joined = contents.ending_at(range.after).is_some();
        if !contents.lacks(*range) || (*is_continued && !is_joined) {
            return Err(FillError::Overtaken);
        }
        let slice = self.slice_for(&contents, (range.after, *after_ms), &batches[0])?;
        check_changes(&slice, &batches).inspect_err(|_| slice.abandon())?;
        let (grown, written) =
            write(&slice, &batches).inspect_err(|error| self.shared.report(&slice, error))?;
        contents.put(grown);
        self.shared.publish(contents);
        self.shared.filled.add(batches.len(), written);
        Ok(())
    }

    /// The slice for what follows on a revision: the one that ends there, or the next. The time is
    /// that of the revision, for where no slice says it.
    fn slice_for(
        &self,
        contents: &Contents,
        (after, after_ms): (Revision, u64),
        first: &Batch,
    ) -> io::Result<Slice> {
        let next = |after_ms| SliceInfo {
            format: FORMAT,
            owner: self.options.owner.clone(),
            after,
            after_ms,
            first_ms: first.time_ms,
            last: after,
            last_ms: after_ms,
            versions: 0,
            written: 0,
        };
        let begin = |after_ms| {
            let era = Era::create(&*self.options.engine, after)?;
            Ok(Slice { era, number: 1, info: next(after_ms) })
        };
        let Some(last) = contents.ending_at(after) else {
            return begin(after_ms);
        };
        if self.is_over(contents, &last.era, first.time_ms) {
            return begin(last.info.last_ms);
        }
        let is_full = last.info.versions >= self.options.slice_versions
            || last.info.written >= self.options.slice_bytes;
        Ok(match is_full {
            true => Slice {
                era: Arc::clone(&last.era),
                number: last.number + 1,
                info: next(last.info.last_ms),
            },
            false => last.clone(),
        })
    }

    /// Whether the era takes nothing more.
    fn is_over(&self, contents: &Contents, era: &Arc<Era>, time_ms: u64) -> bool {
        let first = contents.slices.iter().find(|slice| Arc::ptr_eq(&slice.era, era));
        let began = first.map_or(time_ms, |slice| slice.info.first_ms);
        let age = u128::from(time_ms.saturating_sub(began));
        let is_closed = self.full_era.as_ref() == Some(&era.name);
        let is_old = age >= self.options.retention.as_millis() / u128::from(ERAS_PER_RETENTION);
        is_closed || is_old || era.table.bytes() >= self.options.bytes / ERAS_PER_BYTES
    }

    /// Compares the archive's end with the journal, once: an archive of another history is dropped.
    fn join(&mut self) {
        if std::mem::replace(&mut self.is_joined, true) {
            return;
        }
        let contents = self.shared.contents();
        let Some(last) = contents.slices.last().filter(|last| last.info.last == contents.archived)
        else {
            return;
        };
        let before = Revision::new(contents.archived.get() - 1);
        let Ok(theirs) = self.serving.changes(before, 1) else { return };
        let ours = last.batches(before).next();
        if let (Some(theirs), Some(Ok(ours))) = (theirs.first(), &ours)
            && is_same_batch(ours, theirs)
        {
            return;
        }
        tracing::error!(
            revision = %contents.archived,
            "the archive does not agree with the journal: it is dropped"
        );
        self.shared.count_failure();
        self.drop_eras(|_| true);
        self.shared.publish(Contents { archived: self.serving.kept(), ..Contents::default() });
    }

    /// Goes on where the journal begins, if that is later than where the archive ends.
    fn skip_what_is_lost(&self) {
        let contents = self.shared.contents();
        let oldest = self.serving.kept();
        if contents.archived >= oldest {
            return;
        }
        if !contents.slices.is_empty() {
            tracing::warn!(after = %contents.archived, last = %oldest, "the archive has a gap");
        }
        self.serving.hold(oldest);
        let archived_ms = self
            .serving
            .changes(oldest, 1)
            .ok()
            .and_then(|batches| Some(batches.first()?.time_ms))
            .unwrap_or_default();
        self.shared.publish(Contents {
            archived: oldest,
            archived_ms,
            ..Contents::clone(&contents)
        });
    }

    fn drop_damaged(&self) {
        for name in self.shared.take_damaged() {
            tracing::error!(era = %name, "a damaged part of the archive is dropped");
            self.shared.count_failure();
            self.drop_eras(|era| era.name == name);
        }
    }

    fn note_failure(&mut self, error: &io::Error) {
        self.shared.count_failure();
        tracing::warn!(%error, "the archive cannot be written; it is tried again");
        let contents = self.shared.contents();
        let names = |slice: Option<&Slice>| slice.map(|slice| slice.era.name.clone());
        let (first, last) = (names(contents.slices.first()), names(contents.slices.last()));
        if error.kind() == io::ErrorKind::StorageFull {
            if first != last {
                // The log needs the room more.
                self.note_dropped(&contents, &contents.slices[0].era);
                self.drop_eras(|era| Some(&era.name) == first.as_ref());
            }
        } else if is_damage(error) {
            self.drop_eras(|era| Some(&era.name) == last.as_ref());
        } else {
            // It can be read, and may never be written again.
            self.full_era = last;
        }
    }

    /// Drops what is older than the retention, and what is too much.
    fn expire(&self) {
        let now = self.options.clock.now_ms();
        let retention = u64::try_from(self.options.retention.as_millis()).unwrap_or(u64::MAX);
        loop {
            let contents = self.shared.contents();
            let Some(first) = contents.slices.first() else { return };
            let is_of_first = |slice: &&Slice| Arc::ptr_eq(&slice.era, &first.era);
            let of_first = contents.slices.iter().take_while(is_of_first).count();
            let is_only = of_first == contents.slices.len();
            let last_ms = contents.slices[of_first - 1].info.last_ms;
            let is_old = last_ms.saturating_add(retention) < now;
            if !is_old && (is_only || contents.bytes() <= self.options.bytes) {
                return;
            }
            tracing::info!(era = %first.era.name, "the oldest part of the archive is dropped");
            if !is_old {
                self.note_dropped(&contents, &first.era);
            }
            self.drop_eras(|era| era.name == first.era.name);
        }
    }

    /// What is dropped for want of room is not fetched again.
    fn note_dropped(&self, contents: &Contents, era: &Arc<Era>) {
        let of_era = contents.slices.iter().filter(|slice| Arc::ptr_eq(&slice.era, era));
        let last = of_era.map(|slice| slice.info.last).max().unwrap_or_default();
        self.shared.filled.note_dropped(last);
    }

    fn drop_eras(&self, is_dropped: impl Fn(&Era) -> bool) {
        let contents = self.shared.contents();
        let (dropped, kept): (Vec<Slice>, Vec<Slice>) =
            contents.slices.iter().cloned().partition(|slice| is_dropped(&slice.era));
        dropped.iter().for_each(|slice| slice.era.table.give_up());
        self.shared.publish(Contents {
            slices: kept,
            archived: contents.archived,
            archived_ms: contents.archived_ms(),
        });
    }
}

/// The slice with these batches, and how many bytes of keys and values they have.
fn write(slice: &Slice, batches: &[Arc<Batch>]) -> io::Result<(Slice, u64)> {
    let write = || {
        let bulk = Bulk::new(slice, batches)?;
        slice.era.table.ingest(&mut bulk.records())?;
        let grown = Slice { info: bulk.info.clone(), ..slice.clone() };
        Ok((grown, bulk.info.written - slice.info.written))
    };
    write().inspect_err(|_| slice.abandon())
}
