//! The stream of one watch, while it runs.
//!
//! Invariants: a buffer is made only when the connection asks for one, and holds all events that
//! are there by then, so many events cost one write; watchers of a whole collection that are at the
//! same place send the same buffer; the next one is asked for at the pace that is allowed. The
//! watcher owns cursors and no queue: a slow one reads on from the kept history, until that has
//! moved past it. The stream ends at its deadline, when the server drains, when its resource is no
//! longer served and all changes are told, or with an ERROR event: after what could be told, also
//! when an event cannot be written. A watch that waits takes no room for what it does only when
//! something happens.
//!
//! Not here: the state that is told first (`initial`).

mod initial;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_meta::Status;
use quorate_store::{Event, HistoryError, Revision, WatchBatch};
use quorate_wire::stored::CorruptValue;
use tokio::time::{Instant, Sleep, sleep_until};

use super::event;
use super::event_lines::EventLines;
use super::pace::{Pace, spread};
use super::parts::Parts;
use super::start::refusal;
use crate::Api;
use crate::body::Chunks;
use crate::fanout::{RunKey, Watcher};
use crate::handlers::converted;

/// Bytes after which a buffer is handed on; the last event may exceed it.
const BUFFER_BYTES: usize = 64 * 1024;
/// Objects or changes looked at in one go before other requests get a turn.
const SCAN_OBJECTS: usize = 4096;
/// Seconds that a watch lasts at least, when the client names no end; up to twice that, so that
/// clients which came together do not come back together.
const DEFAULT_TIMEOUT_SECONDS: u64 = 1800;
/// The shortest time between bookmarks; up to a half more.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(45);

/// One watch.
pub(super) struct WatchStream {
    api: Arc<Api>,
    parts: Parts,
    watcher: Watcher,
    /// The form of the events, for watchers that share their encodings.
    variant: Option<Arc<str>>,
    /// The first object of a stream of tables brings the columns.
    first: bool,
    deadline: Instant,
    next_bookmark: Instant,
    bookmark_period: Duration,
    bookmarked: Revision,
    pace: Pace,
    /// Until when changes are held back.
    pause: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    ending: Pin<Box<dyn Future<Output = ()> + Send>>,
    ended: bool,
}

/// Why the stream woke up.
enum Wake {
    Batch(Result<WatchBatch, HistoryError>),
    Timer,
    /// Changes are no longer held back.
    Pause,
    Ending,
    /// The resource is no longer served.
    Removed,
}

impl WatchStream {
    pub(super) fn new(api: &Arc<Api>, parts: Parts) -> Self {
        let now = Instant::now();
        let entropy = api.env.entropy.as_ref();
        let seconds = parts
            .timeout
            .unwrap_or_else(|| spread(entropy, DEFAULT_TIMEOUT_SECONDS, DEFAULT_TIMEOUT_SECONDS));
        let period = BOOKMARK_PERIOD.as_millis() as u64;
        let bookmark_period = Duration::from_millis(spread(entropy, period, period / 2));
        let (deadline, next_bookmark) = (now + Duration::from_secs(seconds), now + bookmark_period);
        let owner = api.clone();
        Self {
            api: api.clone(),
            watcher: api.fanout.join(),
            variant: parts.renderer.variant(),
            first: parts.first,
            deadline,
            next_bookmark,
            bookmark_period,
            bookmarked: Revision::ZERO,
            pace: Pace::new(now),
            pause: None,
            timer: Box::pin(sleep_until(deadline)),
            ending: Box::pin(async move { owner.lifecycle.ending().await }),
            ended: false,
            parts,
        }
    }

    /// The stream as a body.
    pub(super) fn into_chunks(self) -> Chunks {
        Box::pin(futures::stream::unfold(self, |mut stream| async move {
            let buffer = stream.next().await;
            buffer.map(|buffer| (Ok::<_, io::Error>(buffer), stream))
        }))
    }

    /// The next buffer; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            let made = match self.parts.initial.take() {
                Some(initial) => Ok(Box::pin(self.tell_initial(initial)).await),
                None => self.tell_changes().await,
            };
            let buffer = made.unwrap_or_else(|error| self.broken(&error));
            if !buffer.is_empty() {
                return Some(buffer);
            }
        }
        None
    }

    async fn tell_changes(&mut self) -> Result<Bytes, CorruptValue> {
        let next_timer = if self.parts.bookmarks {
            self.deadline.min(self.next_bookmark)
        } else {
            self.deadline
        };
        let pause = self.pause.filter(|until| *until < next_timer);
        let wake_at = pause.unwrap_or(next_timer);
        if self.timer.deadline() != wake_at {
            self.timer.as_mut().reset(wake_at);
        }
        let wake = tokio::select! {
            biased;
            () = &mut self.ending => Wake::Ending,
            () = &mut self.timer => if pause.is_some() { Wake::Pause } else { Wake::Timer },
            batch = self.parts.watch.next(), if pause.is_none() => Wake::Batch(batch),
            () = self.parts.end.reached() => Wake::Removed,
        };
        match wake {
            Wake::Pause => {
                self.pause = None;
                self.pace.resumed(Instant::now());
                Ok(Bytes::new())
            }
            Wake::Ending => {
                self.ended = true;
                self.bookmark()
            }
            Wake::Timer => {
                self.ended = Instant::now() >= self.deadline;
                self.next_bookmark = Instant::now() + self.bookmark_period;
                self.bookmark()
            }
            Wake::Batch(batch) => Ok(self.tell_batches(batch).await),
            Wake::Removed => Ok(Box::pin(self.tell_rest()).await),
        }
    }

    /// What is left to tell of a resource that is no longer served; then the stream ends.
    async fn tell_rest(&mut self) -> Bytes {
        match self.parts.watch.try_next().transpose() {
            Some(batch) => self.tell_batches(batch).await,
            None => {
                self.ended = true;
                Bytes::new()
            }
        }
    }

    /// This batch and those that are there already.
    async fn tell_batches(&mut self, batch: Result<WatchBatch, HistoryError>) -> Bytes {
        if self.is_over(batch.as_ref().ok()).await {
            return Bytes::new();
        }
        let key = batch.as_ref().ok().and_then(|batch| self.run_key(batch.revision()));
        let shared = key.as_ref().and_then(|key| self.watcher.run(key));
        let lines = match shared {
            Some(run) if !self.parts.end.is_before(run.end).await => {
                self.parts.watch.skip_to(run.end);
                self.parts.meter.shared(&run.sizes);
                run.lines
            }
            _ => Box::pin(self.collect(batch, key)).await,
        };
        // A buffer that is full already would gain nothing by a pause.
        if (1..BUFFER_BYTES).contains(&lines.len()) {
            self.pause = self.pace.sent(Instant::now(), self.watcher.beat());
        }
        lines
    }

    /// Whether a batch comes after the end of the resource; then the stream ends.
    async fn is_over(&mut self, batch: Option<&WatchBatch>) -> bool {
        if let Some(batch) = batch
            && self.parts.end.is_before(batch.revision()).await
        {
            self.ended = true;
        }
        self.ended
    }

    /// What the run of events from this transaction on is known by, if others may send the same.
    fn run_key(&self, start: Revision) -> Option<RunKey> {
        let variant = self.variant.clone().filter(|_| self.parts.selection.is_none())?;
        Some(RunKey { prefix: self.parts.watch.prefix().clone(), start, variant })
    }

    /// The lines of this batch and of those that are there already; kept for others, by the key,
    /// when they are several.
    async fn collect(
        &mut self,
        batch: Result<WatchBatch, HistoryError>,
        key: Option<RunKey>,
    ) -> Bytes {
        let mut out = EventLines::default();
        let mut next = batch.map(Some);
        let (mut looked_at, mut end) = (0, None);
        loop {
            match next {
                Ok(Some(batch)) => {
                    let whole = out.len();
                    let resource = self.parts.renderer.resource();
                    let added = match converted::events(resource, batch.events()).await {
                        Ok(events) => self.add(&batch, events.as_deref(), &mut out),
                        Err(error) => {
                            out.push(self.end_with(&error.into_status()));
                            break;
                        }
                    };
                    match added {
                        Ok(changes) => looked_at += changes,
                        Err(error) => {
                            // A part of a transaction would look like all of it to a client that
                            // goes on after its version.
                            out.truncate(whole);
                            out.push(self.broken(&error));
                            break;
                        }
                    }
                    end = Some(batch.revision());
                }
                Ok(None) => break,
                Err(error) => {
                    self.parts.meter.ended(&error);
                    let status = refusal(self.parts.watch.position(), error);
                    out.push(self.end_with(&status));
                    break;
                }
            }
            if out.len() >= BUFFER_BYTES || looked_at >= SCAN_OBJECTS {
                break;
            }
            next = self.parts.watch.try_next();
            if self.is_over(next.as_ref().ok().and_then(Option::as_ref)).await {
                break;
            }
        }
        if looked_at >= SCAN_OBJECTS {
            tokio::task::yield_now().await;
        }
        self.parts.meter.made(out.sizes());
        let end = end.filter(|_| key.is_some() && !self.ended);
        let (lines, run) = out.finish(end);
        if let (Some(key), Some(run)) = (key, run) {
            self.watcher.keep_run(key, run);
        }
        lines
    }

    /// Adds the lines of a batch. Gives the number of its changes, told or not.
    fn add(
        &mut self,
        batch: &WatchBatch,
        converted: Option<&[Event]>,
        out: &mut EventLines,
    ) -> Result<usize, CorruptValue> {
        let mut changes = 0;
        let stored = batch.events().filter(|_| converted.is_none());
        for change in converted.unwrap_or_default().iter().chain(stored) {
            changes += 1;
            let Some(seen) = event::classify(change, self.parts.selection.as_ref())? else {
                continue;
            };
            let first = std::mem::take(&mut self.first);
            let shared = (&self.watcher, self.variant.as_ref());
            out.push(event::shared_line(
                shared,
                &self.parts.renderer,
                &seen,
                change,
                batch.revision(),
                first,
            )?);
        }
        Ok(changes)
    }

    /// Ends the stream because something cannot be written: the line that says so.
    fn broken(&mut self, error: &CorruptValue) -> Bytes {
        tracing::error!(%error, "a watch ends early");
        self.end_with(&Status::internal(error.to_string()))
    }

    /// Ends the stream: the line that says why, or nothing when even that cannot be written.
    fn end_with(&mut self, status: &Status) -> Bytes {
        self.ended = true;
        let mut line = Vec::new();
        if let Err(error) = event::error(&self.parts.renderer, status, &mut line) {
            tracing::error!(%error, "a watch ends without saying why");
        }
        line.into()
    }

    /// A bookmark's line, when the client wants one and it would say something new. A watch that
    /// began in the future says nothing before it gets there.
    fn bookmark(&mut self) -> Result<Bytes, CorruptValue> {
        let position = self.parts.watch.position();
        let said = position <= self.bookmarked;
        if !self.parts.bookmarks || said || position > self.api.store.status().applied {
            return Ok(Bytes::new());
        }
        self.bookmarked = position;
        let mut out = Vec::new();
        event::bookmark(&self.parts.renderer, position, &[], &mut out)?;
        self.parts.meter.made(&[u32::try_from(out.len()).unwrap_or(u32::MAX)]);
        Ok(out.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of what a call gives.
    fn size_of_future<'w, F>(_: impl Fn(&'w mut WatchStream) -> F) -> usize {
        size_of::<F>()
    }

    /// Thousands of watches wait at a time.
    #[test]
    fn a_watch_that_waits_is_small() {
        let (stream, waiting) = (size_of::<WatchStream>(), size_of_future(WatchStream::next));
        assert!(stream + waiting <= 1900, "{stream} bytes, and {waiting} while it waits");
    }
}
