//! Events on their way to a sink, and what carries them there.
//!
//! Invariants: putting an event in takes no longer than a lock that nobody holds for long; a full spool drops the newest and
//! counts it; events reach the sink in order; a sink that fails is asked again a few times, then its batch is dropped and
//! counted.

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
const ATTEMPTS: u32 = 4;
/// How long it rests after the first failure; twice as long after each further one.
const REST: Duration = Duration::from_millis(500);

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
    /// Bytes of events that may wait.
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
    events: Vec<Bytes>,
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
        waiting.events.push(event);
        if waiting.events.len() == 1 {
            self.arrived.notify_one();
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn take(&self) -> Vec<Bytes> {
        std::mem::take(&mut *self.waiting.lock()).events
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
        let mut told = 0;
        let mut stopping = false;
        while !stopping {
            tokio::select! {
                () = self.spool.arrived.notified() => {}
                () = self.stop.cancelled() => {}
            }
            tokio::select! {
                () = sleep(self.batching.wait) => {}
                () = self.stop.cancelled() => {}
            }
            stopping = self.stop.is_cancelled();
            self.flush().await;
            let dropped = self.spool.dropped();
            if dropped > told {
                tracing::warn!(dropped, sink = self.sink.name(), "audit events were dropped, in all");
                told = dropped;
            }
        }
    }

    async fn flush(&mut self) {
        for batch in self.spool.take().chunks(self.batching.events.max(1)) {
            self.deliver(batch).await;
        }
    }

    async fn deliver(&mut self, batch: &[Bytes]) {
        for attempt in 0..ATTEMPTS {
            match self.sink.write(batch).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(error, sink = self.sink.name(), "audit events cannot be written"),
            }
            let last = attempt + 1 == ATTEMPTS || self.stop.is_cancelled();
            if last {
                break;
            }
            sleep(REST * 2_u32.pow(attempt)).await;
        }
        self.spool.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
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
        sleep(Duration::from_secs(60)).await;
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
