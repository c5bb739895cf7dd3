//! What is counted of priority and fairness.
//!
//! Invariants: the series of a flow are found when flow schemas change, so that counting a request of
//! it takes no lock and no look-up; what is sampled over time is sampled when metrics are read.

use std::sync::Arc;
use std::time::Duration;

use quorate_access::flow_control::{
    FlowControl, FlowControlMetrics, FlowLabels, FlowMetrics, LevelLimits, LevelStatus,
    RejectReason, SeatDemand,
};
use quorate_metrics::{
    Counter, CounterSeries, Gauge, GaugeSeries, Histogram, HistogramSeries, Registry,
};

/// The metrics of priority and fairness.
#[derive(Debug)]
pub(crate) struct FlowControlCounts {
    families: FlowFamilies,
    levels: LevelGauges,
}

/// What has the labels `priority_level` and `flow_schema`.
#[derive(Debug)]
struct FlowFamilies {
    estimated_seats: Histogram<2>,
    watch_count: Histogram<2>,
    queue_length: Histogram<2>,
    waiting_requests: Gauge<2>,
    waiting_seats: Gauge<2>,
    wait: Histogram<3>,
    dispatched: Counter<2>,
    executing_requests: Gauge<2>,
    executing_seats: Gauge<2>,
    execution: Histogram<3>,
    rejected: Counter<3>,
}

/// What has the label `priority_level`.
#[derive(Debug)]
struct LevelGauges {
    nominal: Gauge<1>,
    lower: Gauge<1>,
    upper: Gauge<1>,
    current: Gauge<1>,
    target: Gauge<1>,
    high_watermark: Gauge<1>,
    average: Gauge<1>,
    deviation: Gauge<1>,
    smoothed: Gauge<1>,
    fair_fraction: Gauge<0>,
}

/// The series of one flow schema at one priority level.
#[derive(Debug)]
struct FlowSeries {
    estimated_seats: HistogramSeries,
    watch_count: HistogramSeries,
    queue_length: HistogramSeries,
    waiting_requests: GaugeSeries,
    waiting_seats: GaugeSeries,
    /// Of requests that execute, and of those that do not.
    wait: [HistogramSeries; 2],
    dispatched: CounterSeries,
    executing_requests: GaugeSeries,
    executing_seats: GaugeSeries,
    /// Of regular requests, and of watches.
    execution: [HistogramSeries; 2],
    /// Rejections are few.
    rejected: Counter<3>,
    labels: [Box<str>; 2],
}

impl FlowControlCounts {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        let (families, levels) = (FlowFamilies::new(registry), LevelGauges::new(registry));
        Arc::new(Self { families, levels })
    }
}

impl FlowFamilies {
    fn new(registry: &Registry) -> Self {
        let name = |name: &str| format!("apiserver_flowcontrol_{name}");
        Self {
            estimated_seats: registry.histogram(&name("work_estimated_seats")),
            watch_count: registry.histogram(&name("watch_count_samples")),
            queue_length: registry.histogram(&name("request_queue_length_after_enqueue")),
            waiting_requests: registry.gauge(&name("current_inqueue_requests")),
            waiting_seats: registry.gauge(&name("current_inqueue_seats")),
            wait: registry.histogram(&name("request_wait_duration_seconds")),
            dispatched: registry.counter(&name("dispatched_requests_total")),
            executing_requests: registry.gauge(&name("current_executing_requests")),
            executing_seats: registry.gauge(&name("current_executing_seats")),
            execution: registry.histogram(&name("request_execution_seconds")),
            rejected: registry.counter(&name("rejected_requests_total")),
        }
    }

    fn series(&self, flow: FlowLabels<'_>) -> FlowSeries {
        let labels = [flow.priority_level, flow.flow_schema];
        let and = |third| [flow.priority_level, flow.flow_schema, third];
        FlowSeries {
            estimated_seats: self.estimated_seats.with(labels),
            watch_count: self.watch_count.with(labels),
            queue_length: self.queue_length.with(labels),
            waiting_requests: self.waiting_requests.with(labels),
            waiting_seats: self.waiting_seats.with(labels),
            wait: ["true", "false"].map(|executes| self.wait.with(and(executes))),
            dispatched: self.dispatched.with(labels),
            executing_requests: self.executing_requests.with(labels),
            executing_seats: self.executing_seats.with(labels),
            execution: ["regular", "watch"].map(|kind| self.execution.with(and(kind))),
            rejected: self.rejected.clone(),
            labels: labels.map(Box::from),
        }
    }
}

impl LevelGauges {
    fn new(registry: &Registry) -> Self {
        let gauge = |name: &str| registry.gauge(&format!("apiserver_flowcontrol_{name}"));
        Self {
            nominal: gauge("nominal_limit_seats"),
            lower: gauge("lower_limit_seats"),
            upper: gauge("upper_limit_seats"),
            current: gauge("current_limit_seats"),
            target: gauge("target_seats"),
            high_watermark: gauge("demand_seats_high_watermark"),
            average: gauge("demand_seats_average"),
            deviation: gauge("demand_seats_stdev"),
            smoothed: gauge("demand_seats_smoothed"),
            fair_fraction: registry.gauge("apiserver_flowcontrol_seat_fair_frac"),
        }
    }
}

impl FlowMetrics for FlowSeries {
    fn estimated(&self, seats: u32) {
        self.estimated_seats.observe(seats.into());
    }

    fn watchers_counted(&self, watchers: usize) {
        let watchers = u32::try_from(watchers).unwrap_or(u32::MAX);
        self.watch_count.observe(watchers.into());
    }

    fn queued(&self, seats: u32, queue_length: usize) {
        let length = u32::try_from(queue_length).unwrap_or(u32::MAX);
        self.waiting_requests.add(1.0);
        self.waiting_seats.add(seats.into());
        self.queue_length.observe(length.into());
    }

    fn left_queue(&self, seats: u32, waited: Duration, executes: bool) {
        self.waiting_requests.add(-1.0);
        self.waiting_seats.add(-f64::from(seats));
        self.wait[usize::from(!executes)].observe_duration(waited);
    }

    fn dispatched(&self, seats: u32) {
        self.dispatched.inc();
        self.executing_requests.add(1.0);
        self.executing_seats.add(seats.into());
    }

    fn executed(&self, took: Duration, is_watch: bool) {
        self.executing_requests.add(-1.0);
        self.execution[usize::from(is_watch)].observe_duration(took);
    }

    fn seats_released(&self, seats: u32) {
        self.executing_seats.add(-f64::from(seats));
    }

    fn rejected(&self, reason: RejectReason) {
        let [priority_level, flow_schema] = &self.labels;
        self.rejected.inc([priority_level, flow_schema, reason.name()]);
    }
}

impl FlowControlMetrics for FlowControlCounts {
    fn flow(&self, flow: FlowLabels<'_>) -> Arc<dyn FlowMetrics> {
        Arc::new(self.families.series(flow))
    }

    fn configured(&self, priority_level: &str, limits: LevelLimits) {
        let level = [priority_level];
        self.levels.nominal.set(level, limits.nominal.into());
        self.levels.lower.set(level, limits.lower.into());
        self.levels.upper.set(level, limits.upper.into());
    }

    fn adjusted(&self, priority_level: &str, demand: &SeatDemand, target: f64, current: u32) {
        let level = [priority_level];
        self.levels.high_watermark.set(level, demand.high_watermark);
        self.levels.average.set(level, demand.average);
        self.levels.deviation.set(level, demand.deviation);
        self.levels.smoothed.set(level, demand.smoothed);
        self.levels.target.set(level, target);
        self.levels.current.set(level, current.into());
    }

    fn fair_fraction(&self, fraction: f64) {
        self.levels.fair_fraction.set([], fraction);
    }

    fn removed(&self, priority_level: &str) {
        self.configured(priority_level, LevelLimits { nominal: 0, lower: 0, upper: 0 });
        self.adjusted(priority_level, &SeatDemand::default(), 0.0, 0);
    }
}

/// Samples how the levels stand whenever metrics are read.
pub(crate) fn observe_levels(registry: &Registry, flow_control: Arc<FlowControl>) {
    let name = |name: &str| format!("apiserver_flowcontrol_{name}");
    let demand: Histogram<1> = registry.histogram(&name("demand_seats"));
    let requests: Histogram<2> = registry.histogram(&name("priority_level_request_utilization"));
    let seats: Histogram<1> = registry.histogram(&name("priority_level_seat_utilization"));
    registry.observe(&name("current_r"), move |to| {
        for level in flow_control.levels() {
            let name = &*level.name;
            to.add(&[name], level.progress);
            let LevelStatus { waiting_seats, executing_seats, .. } = level;
            let wanted = waiting_seats.saturating_add(executing_seats);
            demand.observe([name], share(wanted, level.limits.nominal));
            seats.observe([name], share(executing_seats, level.current_limit));
            for (phase, count) in
                [("executing", level.executing_requests), ("waiting", level.waiting_requests)]
            {
                requests.observe([phase, name], share(count, level.current_limit));
            }
        }
    });
}

fn share(part: u32, whole: u32) -> f64 {
    f64::from(part) / f64::from(whole.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::series;

    const FLOW: FlowLabels<'_> = FlowLabels { priority_level: "level", flow_schema: "schema" };

    #[test]
    fn a_request_is_followed_through_its_level() {
        let registry = Registry::default();
        let metrics = FlowControlCounts::new(&registry);
        let check = |name: &str, expect: &[&str]| {
            assert_eq!(
                series(&registry, &format!("apiserver_flowcontrol_{name}")),
                expect,
                "{name}"
            );
        };
        let flow = metrics.flow(FLOW);
        flow.estimated(3);
        flow.queued(3, 2);
        check("current_inqueue_requests", &["level,schema = 1"]);
        check("current_inqueue_seats", &["level,schema = 3"]);
        flow.left_queue(3, Duration::from_millis(500), true);
        flow.dispatched(3);
        check("current_inqueue_seats", &["level,schema = 0"]);
        check("current_executing_requests", &["level,schema = 1"]);
        check("current_executing_seats", &["level,schema = 3"]);
        flow.executed(Duration::from_millis(250), false);
        flow.seats_released(3);
        flow.rejected(RejectReason::QueueFull);
        check("current_executing_seats", &["level,schema = 0"]);
        check("current_executing_requests", &["level,schema = 0"]);
        check("dispatched_requests_total", &["level,schema = 1"]);
        check("rejected_requests_total", &["level,schema,queue-full = 1"]);
        check("request_wait_duration_seconds", &["level,schema,true = 1 0.5"]);
        check("request_execution_seconds", &["level,schema,regular = 1 0.25"]);
        check("work_estimated_seats", &["level,schema = 1 3"]);
        check("request_queue_length_after_enqueue", &["level,schema = 1 2"]);
    }

    #[test]
    fn a_level_tells_its_limits_until_it_is_gone() {
        let registry = Registry::default();
        let metrics = FlowControlCounts::new(&registry);
        let limits = || {
            ["nominal", "lower", "upper", "current"].map(|limit| {
                series(&registry, &format!("apiserver_flowcontrol_{limit}_limit_seats")).concat()
            })
        };
        metrics.configured("level", LevelLimits { nominal: 30, lower: 20, upper: 600 });
        metrics.adjusted("level", &SeatDemand::default(), 25.0, 26);
        assert_eq!(limits(), ["level = 30", "level = 20", "level = 600", "level = 26"]);
        metrics.removed("level");
        assert_eq!(limits(), ["level = 0"; 4]);
    }
}
