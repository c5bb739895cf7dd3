//! One queue of a queue set: what waits in it, and where in R its next request begins.

use std::collections::VecDeque;

use super::status::QueueStatus;
use crate::flow_control::work_estimate::WorkEstimate;

/// How long a request is taken to execute, before that is known.
pub(super) const SERVICE_NS: i128 = 3_000_000;

/// One queue.
#[derive(Debug)]
pub(super) struct Queue<W> {
    pub(super) waiting: VecDeque<Waiting<W>>,
    pub(super) executing: u32,
    pub(super) seats_in_use: u32,
    /// The work of what waits.
    pub(super) work_waiting: i128,
    /// Where in R its next request begins.
    pub(super) next_dispatch: i128,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Waiting<W> {
    pub(super) id: u64,
    pub(super) estimate: WorkEstimate,
    pub(super) work: i128,
    /// R when it came.
    pub(super) arrival: i128,
    pub(super) waiter: W,
}

impl<W> Queue<W> {
    /// Whether it has no request that waits or executes.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.executing == 0
    }

    /// How it stands.
    pub(super) fn status(&self) -> QueueStatus {
        let sum = |seats: fn(WorkEstimate) -> u32| {
            let seats = self.waiting.iter().map(|waiting| seats(waiting.estimate));
            seats.fold(0, u32::saturating_add)
        };
        QueueStatus {
            waiting: self.waiting.len(),
            executing: self.executing,
            seats_in_use: self.seats_in_use,
            next_dispatch: self.next_dispatch,
            initial_seats: sum(|estimate| estimate.initial_seats),
            max_seats: sum(WorkEstimate::max_seats),
            work: self.work_waiting,
        }
    }

    /// Whether nothing refers to it.
    pub(super) fn is_unused(&self) -> bool {
        self.is_idle() && self.seats_in_use == 0
    }

    /// No request begins before it has come: a queue that could not use its part for a while has no
    /// claim to what it did not use.
    pub(super) fn bound_dispatch(&mut self) {
        if let Some(first) = self.waiting.front() {
            self.next_dispatch = self.next_dispatch.max(first.arrival);
        }
    }
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            executing: 0,
            seats_in_use: 0,
            work_waiting: 0,
            next_dispatch: 0,
        }
    }
}

/// The work of a request in seats times nanoseconds.
pub(super) fn work(estimate: WorkEstimate) -> i128 {
    let WorkEstimate { initial_seats, final_seats, additional_latency } = estimate;
    let after = i128::try_from(additional_latency.as_nanos()).unwrap_or(i128::MAX / 2);
    i128::from(initial_seats) * SERVICE_NS + i128::from(final_seats) * after
}
