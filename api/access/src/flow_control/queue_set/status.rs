//! How each queue of a queue set stands, for its operators.

use super::QueueSet;
use super::queue::Queue;
use crate::flow_control::work_estimate::WorkEstimate;

/// One queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueStatus {
    /// Requests that wait.
    pub waiting: usize,
    /// Requests that execute.
    pub executing: u32,
    /// Seats in use.
    pub seats_in_use: u32,
    /// Where in R its next request begins, in seats times nanoseconds.
    pub next_dispatch: i128,
    /// Seats that what waits takes while it executes.
    pub initial_seats: u32,
    /// Seats that have to be free for what waits.
    pub max_seats: u32,
    /// The work of what waits, in seats times nanoseconds.
    pub work: i128,
}

impl<W> QueueSet<W> {
    /// How each queue stands.
    pub(in crate::flow_control) fn queues(&self) -> impl Iterator<Item = QueueStatus> {
        self.queues.iter().map(Queue::status)
    }

    /// What waits, by queue and in its order: with its estimate.
    pub(in crate::flow_control) fn waiting(
        &self,
    ) -> impl Iterator<Item = (usize, usize, WorkEstimate, &W)> {
        self.queues.iter().enumerate().flat_map(|(at, queue)| {
            let places = queue.waiting.iter().enumerate();
            places.map(move |(place, waiting)| (at, place, waiting.estimate, &waiting.waiter))
        })
    }
}
