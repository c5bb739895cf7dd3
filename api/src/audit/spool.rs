//! Events on their way to a sink, and what carries them there.
//!
//! Invariants: putting an event in takes no longer than a lock that nobody holds for long; what waits and what the sink is just
//! taking are within the limit together; a full spool drops the newest and counts it; events reach the sink in order; a sink
//! that fails is asked again for about a minute, then its batch is dropped and counted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How often a sink is asked to take a batch.
const ATTEMPTS: u32 = 8;
/// How long it rests after the first failure; twice as long after each further one.
const REST: Duration = Duration::from_millis(500);
/// How often it is said that events were dropped.
const TELL_INTERVAL: Duration = Duration::from_secs(5);

/// Where events go in the end.
#[async_trait]
pub trait Sink: Send + 'static {
    /// What the sink is called in the log.
    fn name(&self) -> &'static str;

    /// Takes events, each a line of JSON with its end.
    async fn write(&mut self, events: &[Bytes]) -> Result<(), String>;
}

/// How events are gathered before a sink gets them.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// Events that a sink gets at a time at most.
    pub events: usize,
    /// How long the first of them waits for others.
    pub wait: Duration,
}

/// What is kept for a sink, and how it gets it.
#[derive(Debug, Clone, Copy)]
pub struct SpoolOptions {
    /// Bytes of events that may wait or be on their way.
    pub bytes: usize,
    /// How they are gathered.
    pub batching: Batching,
}

/// Events that wait for a sink.
#[derive(Debug)]
pub(super) struct Spool {
    waiting: Mutex<Waiting>,
    arrived: Notify,
    dropped: AtomicU64,
    limit: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Bytes>,
    /// Of these events, and of those that the sink is just taking.
    bytes: usize,
}

impl Spool {
    pub(super) fn put(&self, event: Bytes) {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + event.len() > self.limit {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.bytes += event.len();
        waiting.events.push_back(event);
        if waiting.events.len() == 1 {
            self.arrived.notify_one();
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        self.waiting.lock().events.len()
    }

    /// Waits until there are events.
    async fn filled(&self) {
        while self.len() == 0 {
            self.arrived.notified().await;
        }
    }

    /// The next events; they count until they are settled.
    fn take(&self, most: usize) -> Vec<Bytes> {
        let mut waiting = self.waiting.lock();
        let count = most.min(waiting.events.len());
        waiting.events.drain(..count).collect()
    }

    fn settle(&self, batch: &[Bytes]) {
        self.waiting.lock().bytes -= batch.iter().map(Bytes::len).sum::<usize>();
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
    batching: Batching,
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
        let (arrived, dropped) = (Notify::new(), AtomicU64::new(0));
        let spool = Arc::new(Spool { waiting: Mutex::default(), arrived, dropped, limit: options.bytes });
        let stop = CancellationToken::new();
        (Self { spool, sink, batching: options.batching, stop: stop.clone() }, AuditWriterHandle { stop })
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
            tokio::select! {
                () = self.spool.filled() => {}
                () = self.stop.cancelled() => {}
            }
            rest(&self.stop, self.batching.wait).await;
            last = self.stop.is_cancelled();
            self.flush().await;
        }
    }

    /// Hands over what waits now; what comes meanwhile is gathered for the next time.
    async fn flush(&mut self) {
        let mut left = self.spool.len();
        while left > 0 {
            let batch = self.spool.take(left.min(self.batching.events.max(1)));
            left -= batch.len();
            self.deliver(&batch).await;
            self.spool.settle(&batch);
        }
    }

    async fn deliver(&mut self, batch: &[Bytes]) {
        for attempt in 1..=ATTEMPTS {
            match self.sink.write(batch).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(error, sink = self.sink.name(), "audit events cannot be written"),
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
        got: Arc<Mutex<Vec<Vec<Bytes>>>>,
        failures: u32,
    }

    #[async_trait]
    impl Sink for Memory {
        fn name(&self) -> &'static str {
            "memory"
        }

        async fn write(&mut self, events: &[Bytes]) -> Result<(), String> {
            if self.failures > 0 {
                self.failures -= 1;
                return Err("not now".to_owned());
            }
            self.got.lock().push(events.to_vec());
            Ok(())
        }
    }

    /// What a sink got of these events in which batches, and how many were dropped.
    async fn check(failures: u32, bytes: usize, events: &[&'static str], expect: &[&[&str]], dropped: u64) {
        let got = Arc::default();
        let sink = Box::new(Memory { got: Arc::clone(&got), failures });
        let batching = Batching { events: 2, wait: Duration::from_millis(10) };
        let (writer, handle) = AuditWriter::new(sink, SpoolOptions { bytes, batching });
        let spool = writer.spool();
        let running = tokio::spawn(writer.run());
        events.iter().for_each(|event| spool.put(Bytes::from_static(event.as_bytes())));
        // Longer than all the rests.
        sleep(Duration::from_secs(600)).await;
        handle.stop();
        running.await.unwrap();
        assert_eq!(*got.lock(), expect);
        assert_eq!(spool.dropped(), dropped);
    }

    #[tokio::test(start_paused = true)]
    async fn events_arrive_in_order_and_in_batches() {
        check(0, 100, &["a", "b", "c"], &[&["a", "b"], &["c"]], 0).await;
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
        let batching = Batching { events: 10, wait: Duration::from_secs(3600) };
        let (writer, handle) = AuditWriter::new(sink, SpoolOptions { bytes: 100, batching });
        writer.spool().put(Bytes::from_static(b"a"));
        handle.stop();
        writer.run().await;
        assert_eq!(got.lock().len(), 1);
    }
}
