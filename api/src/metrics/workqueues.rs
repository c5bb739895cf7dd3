//! What is counted of the controllers, as work queues: what waits, and how long the work takes.
//!
//! Invariant: what a controller works on is known by the number that it was given when it began.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use quorate_controllers::ControllerMetrics;
use quorate_metrics::{Counter, Histogram, Registry};
use tokio::time::Instant;

/// The metrics of the controllers.
#[derive(Debug)]
pub(crate) struct WorkqueueMetrics {
    adds: Counter<1>,
    retries: Counter<1>,
    wait: Histogram<1>,
    work: Histogram<1>,
    queues: Mutex<BTreeMap<&'static str, Workqueue>>,
}

/// The queue of one controller.
#[derive(Debug, Default)]
struct Workqueue {
    waiting: usize,
    /// When the last of those that wait came.
    added: Option<Instant>,
    last_item: u64,
    /// What is worked on, and since when.
    running: BTreeMap<u64, Instant>,
}

impl WorkqueueMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        let metrics = Arc::new(Self {
            adds: registry.counter("workqueue_adds_total"),
            retries: registry.counter("workqueue_retries_total"),
            wait: registry.histogram("workqueue_queue_duration_seconds"),
            work: registry.histogram("workqueue_work_duration_seconds"),
            queues: Mutex::default(),
        });
        let observe = |name: &str, of: fn(&Workqueue) -> f64| {
            let metrics = metrics.clone();
            registry.observe(name, move |to| {
                for (controller, queue) in &*metrics.queues.lock() {
                    to.add(&[controller], of(queue));
                }
            });
        };
        observe("workqueue_depth", Workqueue::depth);
        observe("workqueue_unfinished_work_seconds", |queue| queue.ages().sum());
        observe("workqueue_longest_running_processor_seconds", |queue| {
            queue.ages().fold(0.0, f64::max)
        });
        metrics
    }
}

impl ControllerMetrics for WorkqueueMetrics {
    fn waits(&self, controller: &'static str, items: usize) {
        let mut queues = self.queues.lock();
        let queue = queues.entry(controller).or_default();
        if let Some(more) = items.checked_sub(queue.waiting).filter(|more| *more > 0) {
            self.adds.add([controller], more as u64);
            queue.added = Some(Instant::now());
        }
        queue.waiting = items;
    }

    fn begun(&self, controller: &'static str) -> u64 {
        let now = Instant::now();
        let mut queues = self.queues.lock();
        let queue = queues.entry(controller).or_default();
        if queue.waiting == 0 {
            self.adds.inc([controller]);
            queue.added = Some(now);
        }
        queue.waiting = queue.waiting.saturating_sub(1);
        let waited = queue.added.map(|added| now.duration_since(added)).unwrap_or_default();
        self.wait.observe_duration([controller], waited);
        queue.last_item += 1;
        queue.running.insert(queue.last_item, now);
        queue.last_item
    }

    fn ended(&self, controller: &'static str, item: u64) {
        let mut queues = self.queues.lock();
        let begun = queues.get_mut(controller).and_then(|queue| queue.running.remove(&item));
        if let Some(begun) = begun {
            self.work.observe_duration([controller], begun.elapsed());
        }
    }

    fn retried(&self, controller: &'static str) {
        self.retries.inc([controller]);
    }
}

impl Workqueue {
    #[expect(clippy::cast_precision_loss, reason = "gauges are floating-point numbers")]
    fn depth(&self) -> f64 {
        self.waiting as f64
    }

    /// For how long each item has been worked on, in seconds.
    fn ages(&self) -> impl Iterator<Item = f64> {
        self.running.values().map(|begun| begun.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::tests::series;

    #[tokio::test(start_paused = true)]
    async fn work_is_followed_from_its_add_to_its_end() {
        let registry = Registry::default();
        let metrics = WorkqueueMetrics::new(&registry);
        let check = |name: &str, expect: &[&str]| {
            assert_eq!(series(&registry, &format!("workqueue_{name}")), expect, "{name}");
        };
        metrics.waits("c", 2);
        check("depth", &["c = 2"]);
        tokio::time::advance(Duration::from_millis(500)).await;
        let first = metrics.begun("c");
        check("depth", &["c = 1"]);
        check("queue_duration_seconds", &["c = 1 0.5"]);
        tokio::time::advance(Duration::from_secs(2)).await;
        let second = metrics.begun("c");
        tokio::time::advance(Duration::from_secs(1)).await;
        check("unfinished_work_seconds", &["c = 4"]);
        check("longest_running_processor_seconds", &["c = 3"]);
        metrics.ended("c", first);
        metrics.retried("c");
        metrics.ended("c", second);
        check("work_duration_seconds", &["c = 2 4"]);
        check("retries_total", &["c = 1"]);
        check("longest_running_processor_seconds", &["c = 0"]);
        // What was not announced is added as it begins.
        metrics.ended("c", metrics.begun("c"));
        check("adds_total", &["c = 3"]);
    }
}
