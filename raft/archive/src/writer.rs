//! The writer: takes the changes that the store serves into the archive, and drops what is too old.
//!
//! It follows the store as a watcher does: what is newer than the archive is read from the store's
//! ring in memory, or from the journal when the archive is far behind. So nothing waits in memory
//! for the archive, and the task that applies does not know of it. A bulk is as much as has come
//! within [`crate::BULK_WAIT`], or [`crate::BULK_BYTES`].
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

use crate::bulk::Bulk;
use crate::contents::Contents;
use crate::era::Era;
use crate::options::ArchiveOptions;
use crate::record::{FORMAT, SliceInfo};
use crate::shared::{Shared, is_damage};
use crate::slice::Slice;

/// Between two looks for something to do.
const TICK: Duration = Duration::from_millis(500);
/// The same where changes are archived sooner.
const SHORTEST_TICK: Duration = Duration::from_millis(5);
/// How long a failed bulk waits.
const RETRY: Duration = Duration::from_secs(5);
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
    /// How long something has waited, as the writer's own pauses count it: clocks jump.
    pub(crate) waited: Option<Duration>,
}

impl Writer {
    /// Works until the archive is closed.
    pub(crate) async fn run(mut self) {
        let tick = TICK.min(self.options.bulk_wait.max(SHORTEST_TICK));
        let mut wait = tick;
        while !self.pause(wait).await {
            self.drop_damaged();
            wait = match self.step() {
                Ok(true) => Duration::ZERO,
                Ok(false) => tick,
                Err(error) => {
                    self.note_failure(&error);
                    RETRY
                }
            };
            self.expire();
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
        let bytes: usize = batches.iter().map(|batch| batch.footprint()).sum();
        let has_waited = *self.waited.get_or_insert_default() >= self.options.bulk_wait;
        let is_full = bytes >= self.options.bulk_bytes;
        if batches.is_empty() || !(is_full || has_waited) {
            return Ok(false);
        }
        self.archive(&batches)?;
        self.waited = None;
        Ok(is_full)
    }

    fn archive(&self, batches: &[Arc<Batch>]) -> io::Result<()> {
        let mut contents = Contents::clone(&self.shared.contents());
        let mut slice = self.slice_for(&contents, &batches[0])?;
        let bulk = Bulk::new(&slice, batches)?;
        let written = bulk.info.written - slice.info.written;
        slice.era.table.ingest(&mut bulk.records())?;
        slice.info = bulk.info.clone();
        contents.archived = slice.info.last;
        contents.slices.retain(|other| other.info.after != slice.info.after);
        contents.slices.push(slice);
        self.shared.publish(contents);
        self.shared.written.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }

    /// The slice that this batch goes into: the last one, or the next.
    fn slice_for(&self, contents: &Contents, first: &Batch) -> io::Result<Slice> {
        let last = contents.slices.last();
        let next = |after_ms| SliceInfo {
            format: FORMAT,
            owner: self.options.owner.clone(),
            after: contents.archived,
            after_ms,
            first_ms: first.time_ms,
            last: contents.archived,
            last_ms: after_ms,
            versions: 0,
            written: 0,
        };
        let begin = |after_ms| {
            let era = Era::create(&*self.options.engine, contents.archived)?;
            Ok(Slice { era, number: 1, info: next(after_ms) })
        };
        let Some(last) = last.filter(|last| last.info.last == contents.archived) else {
            return begin(match contents.archived == Revision::ZERO {
                true => 0,
                false => first.time_ms,
            });
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
        let is_old = age >= self.options.retention.as_millis() / u128::from(ERAS_PER_RETENTION);
        is_old || era.table.bytes() >= self.options.bytes / ERAS_PER_BYTES
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
            && **theirs == *ours
        {
            return;
        }
        tracing::error!(
            revision = %contents.archived,
            "the archive does not agree with the journal: it is dropped"
        );
        self.shared.count_failure();
        self.drop_eras(|_| true);
        self.shared.publish(Contents { archived: self.serving.oldest(), ..Contents::default() });
    }

    /// Goes on where the journal begins, if that is later than where the archive ends.
    fn skip_what_is_lost(&self) {
        let contents = self.shared.contents();
        let oldest = self.serving.oldest();
        if contents.archived >= oldest {
            return;
        }
        if !contents.slices.is_empty() {
            tracing::warn!(after = %contents.archived, last = %oldest, "the archive has a gap");
        }
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

    fn note_failure(&self, error: &io::Error) {
        self.shared.count_failure();
        tracing::warn!(%error, "the archive cannot be written; it is tried again");
        let contents = self.shared.contents();
        let names = |slice: Option<&Slice>| slice.map(|slice| slice.era.name.clone());
        let (first, last) = (names(contents.slices.first()), names(contents.slices.last()));
        if error.kind() == io::ErrorKind::StorageFull && first != last {
            // The log needs the room more.
            self.drop_eras(|era| Some(&era.name) == first.as_ref());
        } else if is_damage(error) {
            self.drop_eras(|era| Some(&era.name) == last.as_ref());
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
            if !is_old && (is_only || bytes(&contents) <= self.options.bytes) {
                return;
            }
            tracing::info!(era = %first.era.name, "the oldest part of the archive is dropped");
            self.drop_eras(|era| era.name == first.era.name);
        }
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

/// Bytes on disk of all eras.
pub(crate) fn bytes(contents: &Contents) -> u64 {
    let firsts = contents.slices.iter().filter(|slice| slice.number == 1);
    firsts.map(|slice| slice.era.table.bytes()).sum()
}
