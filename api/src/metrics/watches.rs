//! What is counted of watches.

use quorate_metrics::{Counter, CounterSeries, Histogram, HistogramSeries, Registry};
use quorate_registry::Resource;
use quorate_store::HistoryError;
use tokio::time::Instant;

/// The metrics of watches.
#[derive(Debug)]
pub(crate) struct WatchMetrics {
    events: Counter<3>,
    sizes: Histogram<3>,
    initial: Counter<2>,
    terminated: Counter<2>,
    dispatched: Counter<2>,
    lists: Histogram<4>,
    made: CounterSeries,
    shared: CounterSeries,
}

/// What counts one watch.
#[derive(Debug)]
pub(crate) struct WatchMeter {
    events: CounterSeries,
    sizes: HistogramSeries,
    initial: CounterSeries,
    terminated: CounterSeries,
    dispatched: CounterSeries,
    /// The time of a list at its begin, and since when that is under way.
    list: Option<(HistogramSeries, Instant)>,
    made: CounterSeries,
    shared: CounterSeries,
}

impl WatchMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let lines = registry.counter("quorate_watch_lines_total");
        Self {
            events: registry.counter("apiserver_watch_events_total"),
            sizes: registry.histogram("apiserver_watch_events_sizes"),
            initial: registry.counter("apiserver_init_events_total"),
            terminated: registry.counter("apiserver_terminated_watchers_total"),
            dispatched: registry.counter("apiserver_watch_cache_events_dispatched_total"),
            lists: registry.histogram("apiserver_watch_list_duration_seconds"),
            made: lines.with(["made"]),
            shared: lines.with(["shared"]),
        }
    }

    /// What counts a watch of a resource; `is_list` where it begins with a list.
    pub(crate) fn meter(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        is_list: bool,
    ) -> WatchMeter {
        let (group, version, plural) = (&*resource.group, &*resource.version, &*resource.plural);
        let scope = if namespace.is_some() { "namespace" } else { "cluster" };
        let list = || (self.lists.with([group, version, plural, scope]), Instant::now());
        WatchMeter {
            events: self.events.with([group, version, plural]),
            sizes: self.sizes.with([group, version, plural]),
            initial: self.initial.with([group, plural]),
            terminated: self.terminated.with([group, plural]),
            dispatched: self.dispatched.with([group, plural]),
            list: is_list.then(list),
            made: self.made.clone(),
            shared: self.shared.clone(),
        }
    }
}

impl WatchMeter {
    /// Lines of these sizes are on their way, which another watch has made.
    pub(crate) fn shared(&self, sizes: &[u32]) {
        self.shared.add(sizes.len() as u64);
        self.dispatched.add(sizes.len() as u64);
        self.count(sizes);
    }

    /// Lines of these sizes are on their way.
    pub(crate) fn made(&self, sizes: &[u32]) {
        self.made.add(sizes.len() as u64);
        self.dispatched.add(sizes.len() as u64);
        self.count(sizes);
    }

    /// Lines of these sizes are on their way, of the state that comes first; another watch has made
    /// them, or not.
    pub(crate) fn initial(&self, sizes: &[u32], is_shared: bool) {
        self.initial.add(sizes.len() as u64);
        if is_shared { &self.shared } else { &self.made }.add(sizes.len() as u64);
        self.count(sizes);
    }

    /// The state that comes first has been told.
    pub(crate) fn list_ended(&self) {
        if let Some((duration, begin)) = &self.list {
            duration.observe_duration(begin.elapsed());
        }
    }

    /// The watch ends, because its client was too slow or the store cannot be read.
    pub(crate) fn ended(&self, why: &HistoryError) {
        if matches!(why, HistoryError::Compacted { .. }) {
            self.terminated.inc();
        }
    }

    fn count(&self, sizes: &[u32]) {
        self.events.add(sizes.len() as u64);
        sizes.iter().for_each(|bytes| self.sizes.observe(f64::from(*bytes)));
    }
}
