//! What flow control tells of itself while it runs: the seam for counters, gauges and histograms
//! named `apiserver_flowcontrol_*`.
//!
//! Invariant: what is told costs the caller one virtual call, and no lock of flow control is held
//! during one that counts a request. Not here: the registry that keeps the figures, and what is
//! sampled over time: [`super::FlowControl::levels`] says how each level stands at a moment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::demand::SeatDemand;
use super::limits::LevelLimits;
use super::queue_set::RejectReason;

/// The labels `priority_level` and `flow_schema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLabels<'a> {
    /// The name of the priority level.
    pub priority_level: &'a str,
    /// The name of the flow schema.
    pub flow_schema: &'a str,
}

/// Receives what happens to the requests of one flow schema. Every method does nothing unless it is
/// implemented.
pub trait FlowMetrics: Send + Sync + fmt::Debug {
    /// The work of a request was estimated (`work_estimated_seats`).
    fn estimated(&self, seats: u32) {
        let _ = seats;
    }

    /// A write has to be told to so many watchers (`watch_count_samples`).
    fn watchers_counted(&self, watchers: usize) {
        let _ = watchers;
    }

    /// A request waits in a queue, which has that length with it (`current_inqueue_requests`,
    /// `current_inqueue_seats`, `request_queue_length_after_enqueue`).
    fn queued(&self, seats: u32, queue_length: usize) {
        let _ = (seats, queue_length);
    }

    /// A request has left its queue, to execute or not (`current_inqueue_requests`,
    /// `current_inqueue_seats`, `request_wait_duration_seconds`).
    fn left_queue(&self, seats: u32, waited: Duration, executes: bool) {
        let _ = (seats, waited, executes);
    }

    /// A request begins to execute (`dispatched_requests_total`, `current_executing_requests`,
    /// `current_executing_seats`).
    fn dispatched(&self, seats: u32) {
        let _ = seats;
    }

    /// A request has executed (`current_executing_requests`, `request_execution_seconds`). Of a
    /// watch, what counts is its start.
    fn executed(&self, took: Duration, is_watch: bool) {
        let _ = (took, is_watch);
    }

    /// The seats of a request that has executed are free again (`current_executing_seats`).
    fn seats_released(&self, seats: u32) {
        let _ = seats;
    }

    /// A request does not execute (`rejected_requests_total`).
    fn rejected(&self, reason: RejectReason) {
        let _ = reason;
    }
}

/// Receives what happens. Every method does nothing unless it is implemented.
pub trait FlowControlMetrics: Send + Sync + fmt::Debug {
    /// What receives what happens to the requests of a flow schema; asked for when flow schemas or
    /// levels change, not for each request.
    fn flow(&self, flow: FlowLabels<'_>) -> Arc<dyn FlowMetrics> {
        let _ = flow;
        Arc::new(NoFlowControlMetrics)
    }

    /// A level has these limits now (`nominal_limit_seats`, `lower_limit_seats`,
    /// `upper_limit_seats`).
    fn configured(&self, priority_level: &str, limits: LevelLimits) {
        let _ = (priority_level, limits);
    }

    /// A level was given seats by its demand (`demand_seats_high_watermark`,
    /// `demand_seats_average`, `demand_seats_stdev`, `demand_seats_smoothed`, `target_seats`,
    /// `current_limit_seats`).
    fn adjusted(&self, priority_level: &str, demand: &SeatDemand, target: f64, current: u32) {
        let _ = (priority_level, demand, target, current);
    }

    /// How much of its target each level gets (`seat_fair_frac`).
    fn fair_fraction(&self, fraction: f64) {
        let _ = fraction;
    }

    /// A level that was deleted has drained: its figures end.
    fn removed(&self, priority_level: &str) {
        let _ = priority_level;
    }
}

/// Keeps no figures.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFlowControlMetrics;

impl FlowControlMetrics for NoFlowControlMetrics {}

impl FlowMetrics for NoFlowControlMetrics {}
