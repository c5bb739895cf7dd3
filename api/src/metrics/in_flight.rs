//! Requests that are executing, and those that wait for a seat: how many at most in the last second.
//!
//! Invariant: entering and leaving take no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_access::flow_control::InFlightLimits;
use quorate_metrics::Registry;
use tokio::time::Instant;

/// The kinds of requests, as metrics name them.
const KINDS: [&str; 2] = ["readOnly", "mutating"];

/// The requests that are executing, and those that wait.
#[derive(Debug)]
pub(crate) struct InFlightMetrics {
    begin: Instant,
    kinds: [Watermark; KINDS.len()],
    waiting: [Watermark; KINDS.len()],
}

/// How many run, and how many did at most in this second and the one before.
#[derive(Debug, Default)]
struct Watermark {
    running: AtomicU64,
    second: AtomicU64,
    highest: AtomicU64,
    highest_before: AtomicU64,
}

/// A request that is executing; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Running {
    metrics: Arc<InFlightMetrics>,
    kind: usize,
}

/// A request that waits for a seat; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Enqueued {
    metrics: Arc<InFlightMetrics>,
    kind: usize,
}

impl InFlightMetrics {
    pub(super) fn new(registry: &Registry, limits: InFlightLimits) -> Arc<Self> {
        let (kinds, waiting) = Default::default();
        let metrics = Arc::new(Self { begin: Instant::now(), kinds, waiting });
        let shares = registry.histogram("apiserver_flowcontrol_read_vs_write_current_requests");
        let limits = [limits.read_only, limits.mutating];
        let observe = |name: &str, phase: &'static str, of: fn(&Self) -> &[Watermark]| {
            let (read, shares) = (metrics.clone(), shares.clone());
            registry.observe(name, move |to| {
                let second = read.begin.elapsed().as_secs();
                for ((kind, watermark), limit) in KINDS.iter().zip(of(&read)).zip(limits) {
                    to.add_count(&[kind], watermark.highest(second));
                    shares.observe([phase, kind], watermark.share(limit));
                }
            });
        };
        observe("apiserver_current_inflight_requests", "executing", |own| &own.kinds);
        observe("apiserver_current_inqueue_requests", "waiting", |own| &own.waiting);
        metrics
    }

    /// A request begins to execute now.
    pub(crate) fn enter(self: &Arc<Self>, writes: bool, now: Instant) -> Running {
        let kind = usize::from(writes);
        self.kinds[kind].enter(now.duration_since(self.begin).as_secs());
        Running { metrics: self.clone(), kind }
    }

    /// A request begins to wait for a seat.
    pub(crate) fn enqueue(self: &Arc<Self>, writes: bool) -> Enqueued {
        let kind = usize::from(writes);
        self.waiting[kind].enter(self.begin.elapsed().as_secs());
        Enqueued { metrics: self.clone(), kind }
    }
}

impl Watermark {
    fn enter(&self, second: u64) {
        self.turn(second);
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        if running > self.highest.load(Ordering::Relaxed) {
            self.highest.fetch_max(running, Ordering::Relaxed);
        }
    }

    /// Begins another second, if it has come.
    fn turn(&self, second: u64) {
        let last = self.second.load(Ordering::Relaxed);
        if second <= last
            || self
                .second
                .compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let running = self.running.load(Ordering::Relaxed);
        let highest = self.highest.swap(running, Ordering::Relaxed);
        let is_next = second == last + 1;
        self.highest_before.store(if is_next { highest } else { running }, Ordering::Relaxed);
    }

    /// How many there are now, as a share of a limit.
    #[expect(clippy::cast_precision_loss, reason = "a share is a floating-point number")]
    fn share(&self, limit: usize) -> f64 {
        self.running.load(Ordering::Relaxed) as f64 / limit.max(1) as f64
    }

    fn highest(&self, second: u64) -> u64 {
        self.turn(second);
        let highest = self.highest.load(Ordering::Relaxed);
        highest.max(self.highest_before.load(Ordering::Relaxed))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.metrics.kinds[self.kind].running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Enqueued {
    fn drop(&mut self) {
        self.metrics.waiting[self.kind].running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_number_of_the_last_second_is_told() {
        let watermark = Watermark::default();
        watermark.enter(0);
        watermark.enter(0);
        watermark.running.fetch_sub(2, Ordering::Relaxed);
        let check = |second: u64, expect: u64| assert_eq!(watermark.highest(second), expect);
        check(0, 2);
        check(1, 2);
        check(2, 0);
        watermark.enter(3);
        check(3, 1);
        check(9, 1);
        watermark.running.fetch_sub(1, Ordering::Relaxed);
        check(10, 1);
        check(20, 0);
    }
}
