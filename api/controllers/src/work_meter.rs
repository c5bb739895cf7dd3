//! What is counted of a controller's work: what waits for it, and how long each item takes.
//!
//! Invariants: an item that has begun ends, also when the controller is dropped in the middle of it;
//! a controller that starts anew has nothing waiting.

use std::fmt::Debug;
use std::sync::Arc;

use quorate_registry::error::Error;

/// Counts what controllers do. A controller is called by its name in the table.
pub trait ControllerMetrics: Debug + Send + Sync {
    /// So many items wait for it now.
    fn waits(&self, controller: &'static str, items: usize);

    /// It begins to work on an item; gives a number that tells this from other items.
    fn begun(&self, controller: &'static str) -> u64;

    /// The work on this item has ended.
    fn ended(&self, controller: &'static str, item: u64);

    /// An item has failed and will be tried again.
    fn retried(&self, controller: &'static str);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoControllerMetrics;

impl ControllerMetrics for NoControllerMetrics {
    fn waits(&self, _: &'static str, _: usize) {}

    fn begun(&self, _: &'static str) -> u64 {
        0
    }

    fn ended(&self, _: &'static str, _: u64) {}

    fn retried(&self, _: &'static str) {}
}

/// Counts what one controller does. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct WorkMeter {
    controller: &'static str,
    metrics: Arc<dyn ControllerMetrics>,
}

/// An item that is being worked on.
struct Item<'m> {
    meter: &'m WorkMeter,
    number: u64,
}

impl WorkMeter {
    pub(super) fn new(controller: &'static str, metrics: Arc<dyn ControllerMetrics>) -> Self {
        metrics.waits(controller, 0);
        Self { controller, metrics }
    }

    /// So many items wait now.
    pub(super) fn waits(&self, items: usize) {
        self.metrics.waits(self.controller, items);
    }

    /// Works on one item. One that fails counts as tried again: that is what controllers do.
    pub(super) async fn item<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let _item = Item { meter: self, number: self.metrics.begun(self.controller) };
        let done = work.await;
        if done.is_err() {
            self.metrics.retried(self.controller);
        }
        done
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.meter.metrics.ended(self.meter.controller, self.number);
    }
}
