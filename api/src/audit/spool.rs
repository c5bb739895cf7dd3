//! The spool of audit events: the buffer of one sink, and the writer that empties it into the sink.
//!
//! Events are written behind each other into batches, which come back empty when a sink has taken
//! them: a busy trail needs no memory of its own for each event, and wakes its writer once a batch.
//!
//! Invariants: putting an event in takes no longer than to write it, under a lock that no task
//! holds for longer than that; the memory of all batches (waiting, just being taken, empty) is
//! within the limit together, but for where lines end (8 bytes each) and where batches begin (a
//! block each at most); an event that finds no room is not written but counted, so a full spool
//! drops the newest; events reach the sink in order; a sink that fails is asked again for about a
//! minute, then its batch is dropped and counted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Lines;

/// How often a sink is asked to take a batch.
const ATTEMPTS: u32 = 8;
/// How long it rests after the first failure; twice as long after each further one.
const REST: Duration = Duration::from_millis(500);
/// How often it is said that events were dropped.
const TELL_INTERVAL: Duration = Duration::from_secs(5);
/// Empty batches that are kept for the next events: one fills while the sink takes another.
const SPARE: usize = 2;
/// Bytes of memory that a batch begins with; it grows to what it may hold.
const FIRST_BYTES: usize = 64 << 10;

/// Where events go in the end.
#[async_trait]
pub trait Sink: Send + 'static {
    /// What the sink is called in the log.
    fn name(&self) -> &'static str;

    /// Takes events.
    async fn write(&mut self, events: &Lines) -> Result<(), String>;
}

/// How events are gathered before a sink gets them.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// Events that a sink gets at a time at most.
    pub events: usize,
    /// Bytes at which it gets them, however few they are.
    pub bytes: usize,
    /// How long the first of them waits for others.
    pub wait: Duration,
}

/// What is kept for a sink, and how it gets it.
#[derive(Debug, Clone, Copy)]
pub struct SpoolOptions {
    /// Bytes of memory for events that wait or are on their way.
    pub bytes: usize,
    /// How they are gathered.
    pub batching: Batching,
}

/// Events that wait for a sink.
#[derive(Debug)]
pub(super) struct Spool {
    waiting: Mutex<Waiting>,
    /// The first event is there.
    arrived: Notify,
    /// A batch is full.
    filled: Notify,
    dropped: AtomicU64,
    options: SpoolOptions,
    /// The name of the sink.
    sink: &'static str,
}

#[derive(Debug, Default)]
struct Waiting {
    full: VecDeque<Lines>,
    filling: Lines,
    /// Bytes of memory of these, of what the sink is just taking and of what is spare.
    bytes: usize,
    spare: Vec<Lines>,
}

impl Waiting {
    /// Begins another batch.
    fn turn(&mut self) {
        let next = self.spare.pop().unwrap_or_default();
        self.full.push_back(std::mem::replace(&mut self.filling, next));
    }

    /// Makes room in the batch that is filling, if it may take so much memory.
    fn enlarge(&mut self, room: usize, options: &SpoolOptions) -> bool {
        let (has, batch) = (self.filling.room(), options.batching.bytes);
        let needed = self.filling.text().len() + room;
        if needed <= has {
            return true;
        }
        let limit = options.bytes.saturating_sub(self.bytes - has);
        let wanted = batch.min(FIRST_BYTES.max(2 * has)).min(limit).max(needed);
        if wanted > limit {
            return self.drop_spare() && self.enlarge(room, options);
        }
        self.filling.enlarge(wanted);
        self.bytes += self.filling.room() - has;
        true
    }

    /// Gives the memory of an empty batch back.
    fn drop_spare(&mut self) -> bool {
        let spare = self.spare.pop();
        self.bytes -= spare.as_ref().map_or(0, Lines::room);
        spare.is_some()
    }
}

impl Spool {
    /// Adds what is written here, so many bytes at most.
    pub(super) fn put(&self, room: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Batching { events, bytes, .. } = self.options.batching;
        let mut waiting = self.waiting.lock();
        let before = waiting.full.len();
        if !waiting.filling.is_empty() && waiting.filling.text().len() + room > bytes {
            waiting.turn();
        }
        let is_first = waiting.filling.is_empty() && waiting.full.is_empty();
        if waiting.enlarge(room, &self.options) {
            waiting.filling.add(write);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if waiting.filling.len() >= events || waiting.filling.text().len() >= bytes {
            waiting.turn();
        }
        let filled = waiting.full.len() > before;
        drop(waiting);
        if filled {
            self.filled.notify_one();
        } else if is_first {
            self.arrived.notify_one();
        }
    }

    pub(super) fn sink(&self) -> &'static str {
        self.sink
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock();
        waiting.full.is_empty() && waiting.filling.is_empty()
    }

    /// Waits until there are events, and then for a full batch or as long as the first of them may
    /// wait; says whether that was so long, and all of them are to be written.
    async fn worth_writing(&self) -> bool {
        while self.is_empty() {
            tokio::select! {
                () = self.arrived.notified() => {}
                () = self.filled.notified() => return false,
            }
        }
        tokio::select! {
            () = self.filled.notified() => false,
            () = sleep(self.options.batching.wait) => true,
        }
    }

    /// The batches that are full, or `all` that waits; it counts until it is settled.
    fn take(&self, all: bool) -> VecDeque<Lines> {
        let mut waiting = self.waiting.lock();
        if all && !waiting.filling.is_empty() {
            waiting.turn();
        }
        std::mem::take(&mut waiting.full)
    }

    /// The sink has taken a batch, or the writer has given it up.
    fn settle(&self, mut batch: Lines) {
        batch.clear();
        let mut waiting = self.waiting.lock();
        if waiting.spare.len() < SPARE && batch.room() <= self.options.batching.bytes {
            waiting.spare.push(batch);
        } else {
            waiting.bytes -= batch.room();
        }
    }

    /// Says for ever how many events were dropped.
    async fn tell(&self, sink: &'static str) {
        let mut told = 0;
        loop {
            sleep(TELL_INTERVAL).await;
            told = self.tell_once(sink, told);
        }
    }

    fn tell_once(&self, sink: &'static str, told: u64) -> u64 {
        let dropped = self.dropped();
        if dropped > told {
            tracing::warn!(dropped, sink, "audit events were dropped, in all");
        }
        dropped
    }
}

/// Carries events from a spool to its sink.
pub struct AuditWriter {
    spool: Arc<Spool>,
    sink: Box<dyn Sink>,
    stop: CancellationToken,
}

/// Stops a writer.
#[derive(Debug, Clone)]
pub struct AuditWriterHandle {
    stop: CancellationToken,
}

impl AuditWriterHandle {
    /// Ends [`AuditWriter::run`] once everything that waits has been written.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl AuditWriter {
    pub(super) fn new(sink: Box<dyn Sink>, options: SpoolOptions) -> (Self, AuditWriterHandle) {
        let (arrived, filled, dropped) = (Notify::new(), Notify::new(), AtomicU64::new(0));
        let (waiting, sink_name) = (Mutex::default(), sink.name());
        let spool = Spool { waiting, arrived, filled, dropped, options, sink: sink_name };
        let spool = Arc::new(spool);
        let stop = CancellationToken::new();
        (Self { spool, sink, stop: stop.clone() }, AuditWriterHandle { stop })
    }

    pub(super) fn spool(&self) -> Arc<Spool> {
        self.spool.clone()
    }

    /// Writes until stopped, and what waits then.
    pub async fn run(mut self) {
        let (spool, sink) = (self.spool.clone(), self.sink.name());
        tokio::select! {
            () = self.carry() => {}
            () = spool.tell(sink) => {}
        }
        spool.tell_once(sink, 0);
    }

    async fn carry(&mut self) {
        let mut last = false;
        while !last {
            let all = tokio::select! {
                all = self.spool.worth_writing() => all,
                () = self.stop.cancelled() => true,
            };
            last = self.stop.is_cancelled();
            self.flush(all || last).await;
        }
    }

    /// Hands over what waits now; what comes meanwhile is gathered for the next time.
    async fn flush(&mut self, all: bool) {
        for batch in self.spool.take(all) {
            self.deliver(&batch).await;
            self.spool.settle(batch);
        }
    }

    async fn deliver(&mut self, batch: &Lines) {
        for attempt in 1..=ATTEMPTS {
            match self.sink.write(batch).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(error, sink = self.sink.name(), "audit events cannot be written")
                }
            }
            if attempt == ATTEMPTS || self.stop.is_cancelled() {
                break;
            }
            rest(&self.stop, REST * 2_u32.pow(attempt - 1)).await;
        }
        self.spool.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
    }
}

/// Waits, but not while the node stops.
async fn rest(stop: &CancellationToken, time: Duration) {
    tokio::select! {
        () = sleep(time) => {}
        () = stop.cancelled() => {}
    }
}

impl std::fmt::Debug for AuditWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditWriter").field("sink", &self.sink.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it gets; fails so many times first.
    struct Memory {
        got: Arc<Mutex<Vec<Vec<String>>>>,
        failures: u32,
    }

    #[async_trait]
    impl Sink for Memory {
        fn name(&self) -> &'static str {
            "memory"
        }

        async fn write(&mut self, events: &Lines) -> Result<(), String> {
            if self.failures > 0 {
                self.failures -= 1;
                return Err("not now".to_owned());
            }
            self.got.lock().push(
                events.iter().map(|event| String::from_utf8_lossy(event).into_owned()).collect(),
            );
            Ok(())
        }
    }

    /// What a sink got of these events in which batches, and how many were dropped.
    async fn check(
        failures: u32,
        bytes: usize,
        events: &[&'static str],
        expect: &[&[&str]],
        dropped: u64,
    ) {
        let got = Arc::default();
        let sink = Box::new(Memory { got: Arc::clone(&got), failures });
        let batching = Batching { events: 2, bytes: 4, wait: Duration::from_millis(10) };
        let (writer, handle) = AuditWriter::new(sink, SpoolOptions { bytes, batching });
        let spool = writer.spool();
        let running = tokio::spawn(writer.run());
        events.iter().for_each(|event| {
            spool.put(event.len(), |text| text.extend_from_slice(event.as_bytes()))
        });
        // Longer than all the rests.
        sleep(Duration::from_secs(600)).await;
        handle.stop();
        running.await.unwrap();
        assert_eq!(*got.lock(), expect);
        let mut waiting = spool.waiting.lock();
        while waiting.drop_spare() {}
        assert_eq!(waiting.bytes, waiting.filling.room());
        assert_eq!(spool.dropped(), dropped);
    }

    #[tokio::test(start_paused = true)]
    async fn events_arrive_in_order_and_in_batches() {
        check(0, 100, &["a", "b", "c"], &[&["a", "b"], &["c"]], 0).await;
        check(0, 100, &["long", "b", "c", "d"], &[&["long"], &["b", "c"], &["d"]], 0).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_spool_drops_and_counts() {
        check(0, 2, &["a", "b", "c", "d"], &[&["a", "b"]], 2).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_sink_is_asked_again_but_not_for_ever() {
        check(ATTEMPTS - 1, 100, &["a"], &[&["a"]], 0).await;
        check(ATTEMPTS, 100, &["a", "b", "c"], &[&["c"]], 2).await;
    }

    #[tokio::test]
    async fn what_waits_is_written_at_the_end() {
        let got = Arc::default();
        let sink = Box::new(Memory { got: Arc::clone(&got), failures: 0 });
        let batching = Batching { events: 10, bytes: 100, wait: Duration::from_secs(3600) };
        let (writer, handle) = AuditWriter::new(sink, SpoolOptions { bytes: 100, batching });
        writer.spool().put(1, |text| text.push(b'a'));
        handle.stop();
        writer.run().await;
        assert_eq!(got.lock().len(), 1);
    }
}
