//! What is counted of lists, and of reads that wait for the newest state.
//!
//! A list of the newest state is one of the watch cache in the words of these metrics, and one of an
//! older state one of storage: this server has both at one place.

use std::time::Duration;

use quorate_metrics::{Counter, CounterSeries, Histogram, HistogramSeries, Registry, SeriesMap};
use quorate_registry::Resource;

/// The metrics of reads.
#[derive(Debug)]
pub(crate) struct ReadMetrics {
    cached: Counter<3>,
    cached_fetched: Counter<3>,
    cached_returned: Counter<2>,
    stored: Counter<2>,
    stored_fetched: Counter<2>,
    stored_evaluated: Counter<2>,
    stored_returned: Counter<2>,
    wait: Histogram<2>,
    consistent: Counter<4>,
    /// The series of each resource, by group and plural name.
    waits: SeriesMap<WaitSeries>,
}

/// What is counted of the waits for the newest state of one resource.
#[derive(Debug)]
struct WaitSeries {
    wait: HistogramSeries,
    ready: CounterSeries,
    failed: CounterSeries,
}

/// What counts one list.
#[derive(Debug, Clone)]
pub(crate) struct ListMeter {
    fetched: CounterSeries,
    /// Of a list of an older state.
    evaluated: Option<CounterSeries>,
    returned: CounterSeries,
}

impl ReadMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            cached: registry.counter("apiserver_cache_list_total"),
            cached_fetched: registry.counter("apiserver_cache_list_fetched_objects_total"),
            cached_returned: registry.counter("apiserver_cache_list_returned_objects_total"),
            stored: registry.counter("apiserver_storage_list_total"),
            stored_fetched: registry.counter("apiserver_storage_list_fetched_objects_total"),
            stored_evaluated: registry.counter("apiserver_storage_list_evaluated_objects_total"),
            stored_returned: registry.counter("apiserver_storage_list_returned_objects_total"),
            wait: registry.histogram("apiserver_watch_cache_read_wait_seconds"),
            consistent: registry.counter("apiserver_watch_cache_consistent_read_total"),
            waits: SeriesMap::default(),
        }
    }

    /// A list of a resource begins, of the newest state or an older one, from an index if that has a
    /// name.
    pub(crate) fn list(&self, resource: &Resource, is_newest: bool, index: &str) -> ListMeter {
        let labels = [&*resource.group, &*resource.plural];
        if is_newest {
            let indexed = [&*resource.group, &*resource.plural, index];
            self.cached.inc(indexed);
            return ListMeter {
                fetched: self.cached_fetched.with(indexed),
                evaluated: None,
                returned: self.cached_returned.with(labels),
            };
        }
        self.stored.inc(labels);
        ListMeter {
            fetched: self.stored_fetched.with(labels),
            evaluated: Some(self.stored_evaluated.with(labels)),
            returned: self.stored_returned.with(labels),
        }
    }

    /// A read of the newest state has waited so long for it, and may begin, or not.
    pub(crate) fn waited(&self, resource: &Resource, took: Duration, is_ready: bool) {
        let labels = [&*resource.group, &*resource.plural];
        let of = |success| self.consistent.with([labels[0], labels[1], success, "false"]);
        let make =
            || WaitSeries { wait: self.wait.with(labels), ready: of("true"), failed: of("false") };
        // As many resources as fit a metric are counted by name.
        let Some(series) = self.waits.get_or_insert(&labels, make) else { return };
        series.wait.observe_duration(took);
        if is_ready { series.ready.inc() } else { series.failed.inc() }
    }
}

impl ListMeter {
    /// So many objects were looked at, of which so many are on the list.
    pub(crate) fn looked_at(&self, objects: u64, returned: u64) {
        self.fetched.add(objects);
        if let Some(evaluated) = &self.evaluated {
            evaluated.add(objects);
        }
        self.returned.add(returned);
    }
}
