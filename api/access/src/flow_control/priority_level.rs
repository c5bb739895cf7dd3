//! A priority level at work: its queue set under one lock, and the requests that wait and execute.
//!
//! Invariants: whatever becomes of a request, its seats are given back: a guard that is dropped ends
//! it, a waiting one that is dropped leaves its queue; the lock is never held across an await, nor
//! while another one is taken.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::demand::DemandObservation;
use super::flow::MatchedSchema;
use super::level_config::LimitResponse;
use super::queue_set::{Arrival, Counts, Dispatched, QueueSet, QueueStatus, RejectReason, Ticket};
use super::waiting_request::{RequestDetails, WaitingStatus};
use super::work_estimate::WorkEstimate;

/// What stands in a queue for a request.
struct QueuedRequest {
    /// Tells it when it has begun to execute, in nanoseconds of the level's time.
    start: oneshot::Sender<u64>,
    schema: Arc<MatchedSchema>,
    details: RequestDetails,
}

/// A priority level.
pub(super) struct PriorityLevel {
    pub(super) name: Arc<str>,
    queues: Mutex<QueueSet<QueuedRequest>>,
    /// When its time begins.
    origin: Instant,
}

/// How a priority level stands. Seats and requests.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it has neither requests nor seats in use.
    pub is_idle: bool,
    /// Whether it was deleted and drains.
    pub is_quiescing: bool,
    /// Whether it limits nothing.
    pub is_exempt: bool,
    /// Its limits, by its configuration.
    pub limits: super::LevelLimits,
    /// The seats that it has now.
    pub current_limit: u32,
    /// Queues with requests.
    pub active_queues: u32,
    /// Requests that wait.
    pub waiting_requests: u32,
    /// The seats that they wait for.
    pub waiting_seats: u32,
    /// Requests that execute.
    pub executing_requests: u32,
    /// Seats in use.
    pub executing_seats: u32,
    /// How many requests there have been.
    pub counts: Counts,
    /// R: how far fair queuing has come, in seats times seconds.
    pub progress: f64,
}

impl PriorityLevel {
    pub(super) fn new(
        name: Arc<str>,
        (response, limit): (LimitResponse, u32),
        (origin, now_ns): (Instant, u64),
    ) -> Self {
        let queues = Mutex::new(QueueSet::new(response, limit, now_ns));
        Self { name, queues, origin }
    }

    pub(super) fn configure(&self, now_ns: u64, response: LimitResponse, limit: u32) {
        let dispatched = self.queues.lock().configure(now_ns, response, limit);
        tell(dispatched, now_ns);
    }

    pub(super) fn observe_demand(&self, now_ns: u64) -> DemandObservation {
        self.queues.lock().observe_demand(now_ns)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queues.lock().is_idle()
    }

    /// How it stands; its configuration is the caller's to add.
    pub(super) fn status(&self) -> LevelStatus {
        let queues = self.queues.lock();
        let totals = queues.totals();
        LevelStatus {
            name: self.name.clone(),
            is_idle: queues.is_idle(),
            is_quiescing: false,
            is_exempt: false,
            limits: super::LevelLimits::default(),
            current_limit: 0,
            active_queues: queues.active_queues(),
            waiting_requests: totals.waiting,
            waiting_seats: totals.seats_waiting,
            executing_requests: totals.executing,
            executing_seats: totals.seats_in_use,
            counts: queues.counts(),
            progress: queues.progress(),
        }
    }

    /// How each of its queues stands.
    pub(super) fn queue_statuses(&self) -> Vec<QueueStatus> {
        self.queues.lock().queues().collect()
    }

    /// What waits in its queues.
    pub(super) fn waiting(&self) -> Vec<WaitingStatus> {
        let queues = self.queues.lock();
        let status =
            |(queue, place, estimate, waiter): (usize, usize, WorkEstimate, &QueuedRequest)| {
                let (flow_schema, details) = (waiter.schema.name.clone(), waiter.details.clone());
                WaitingStatus { flow_schema, queue, place, estimate, details }
            };
        queues.waiting().map(status).collect()
    }

    fn ns(&self, at: Instant) -> u64 {
        since(self.origin, at)
    }

    fn now_ns(&self) -> u64 {
        self.ns(Instant::now())
    }
}

/// Nanoseconds from one moment to another; of 584 years at most.
pub(super) fn since(origin: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX)
}

/// Tells requests that they execute. One that is gone gives its seats back when it finds out.
fn tell(dispatched: Dispatched<QueuedRequest>, now_ns: u64) {
    for waiter in dispatched {
        let _ = waiter.start.send(now_ns);
    }
}

/// A request that executes; dropping it gives its seats back.
pub struct ExecutingRequest {
    schema: Arc<MatchedSchema>,
    queue: Option<u32>,
    estimate: WorkEstimate,
    started_ns: u64,
    is_watch: bool,
}

/// A request on its way to a seat.
pub(super) struct AdmissionRequest {
    pub(super) schema: Arc<MatchedSchema>,
    pub(super) hash: u64,
    pub(super) estimate: WorkEstimate,
    pub(super) is_watch: bool,
}

impl AdmissionRequest {
    /// Lets the request execute as soon as there are seats and it is its turn, unless that is not
    /// before the end of its wait. It is asked for its details when it has to wait.
    pub(super) async fn admit(
        self,
        now: Instant,
        until: Instant,
        details: impl FnOnce() -> RequestDetails,
    ) -> Result<ExecutingRequest, RejectReason> {
        let schema = self.schema.clone();
        let (level, metrics) = (&schema.level, &schema.metrics);
        let (now_ns, seats) = (level.ns(now), self.estimate.max_seats());
        let mut called = None;
        let (arrival, dispatched) =
            level.queues.lock().arrive(now_ns, self.hash, self.estimate, || {
                let (start, receiver) = oneshot::channel();
                called = Some(receiver);
                QueuedRequest { start, schema: schema.clone(), details: details() }
            });
        tell(dispatched, now_ns);
        let started = match (arrival, called) {
            (Arrival::Executing(queue), _) => Ok((queue, now_ns)),
            (Arrival::Waiting(ticket), Some(called)) => {
                metrics.queued(seats, ticket.queue_length);
                let waiting = WaitingRequest {
                    schema: &schema,
                    ticket,
                    estimate: self.estimate,
                    since_ns: now_ns,
                    is_settled: false,
                };
                waiting.wait(called, until).await.map(|started| (Some(ticket.queue), started))
            }
            (Arrival::Waiting(_), None) => Err(RejectReason::Cancelled),
            (Arrival::Rejected(reason), _) => Err(reason),
        };
        match started {
            Ok((queue, started_ns)) => {
                metrics.dispatched(seats);
                let Self { schema, estimate, is_watch, .. } = self;
                Ok(ExecutingRequest { schema, queue, estimate, started_ns, is_watch })
            }
            Err(reason) => {
                metrics.rejected(reason);
                Err(reason)
            }
        }
    }
}

/// A request in a queue; dropping it takes it out.
struct WaitingRequest<'s> {
    schema: &'s Arc<MatchedSchema>,
    ticket: Ticket,
    estimate: WorkEstimate,
    since_ns: u64,
    /// Whether it executes, or was taken out.
    is_settled: bool,
}

impl WaitingRequest<'_> {
    /// Waits for its turn; gives when that came.
    async fn wait(
        mut self,
        mut called: oneshot::Receiver<u64>,
        until: Instant,
    ) -> Result<u64, RejectReason> {
        let started = match timeout_at(until, &mut called).await {
            Ok(Ok(started_ns)) => started_ns,
            // Its time is over, unless it was called just now.
            _ if self.leave(true) => {
                self.note(false);
                return Err(RejectReason::TimeOut);
            }
            _ => called.try_recv().unwrap_or_else(|_| self.schema.level.now_ns()),
        };
        self.is_settled = true;
        self.note(true);
        Ok(started)
    }

    /// Takes it out of its queue; false when it has left it to execute.
    fn leave(&mut self, is_late: bool) -> bool {
        let level = &self.schema.level;
        let now_ns = level.now_ns();
        let left = level.queues.lock().cancel(now_ns, self.ticket, is_late);
        let Some(dispatched) = left else { return false };
        self.is_settled = true;
        tell(dispatched, now_ns);
        true
    }

    fn note(&self, executes: bool) {
        let level = &self.schema.level;
        let waited = Duration::from_nanos(level.now_ns().saturating_sub(self.since_ns));
        let seats = self.estimate.max_seats();
        self.schema.metrics.left_queue(seats, waited, executes);
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let (level, metrics) = (&self.schema.level, &self.schema.metrics);
        let was_waiting = self.leave(false);
        self.note(!was_waiting);
        if was_waiting {
            metrics.rejected(RejectReason::Cancelled);
            return;
        }
        // It was given seats that it does not use.
        metrics.dispatched(self.estimate.max_seats());
        drop(ExecutingRequest {
            schema: self.schema.clone(),
            queue: Some(self.ticket.queue),
            estimate: WorkEstimate { additional_latency: Duration::ZERO, ..self.estimate },
            started_ns: level.now_ns(),
            is_watch: false,
        });
    }
}

impl Drop for ExecutingRequest {
    fn drop(&mut self) {
        let level = &self.schema.level;
        let now_ns = level.now_ns();
        let (queue, estimate) = (self.queue, self.estimate);
        let latency = estimate.additional_latency;
        // Where nothing can wait, nothing is told to watchers either.
        let later = if latency.is_zero() { None } else { Handle::try_current().ok() };
        let dispatched = {
            let mut queues = level.queues.lock();
            let mut dispatched = queues.finish(now_ns, queue, estimate, self.started_ns);
            if later.is_none() {
                dispatched.extend(queues.release(now_ns, queue, estimate));
            }
            dispatched
        };
        tell(dispatched, now_ns);
        let metrics = &self.schema.metrics;
        let took = Duration::from_nanos(now_ns.saturating_sub(self.started_ns));
        metrics.executed(took, self.is_watch);
        let Some(runtime) = later else {
            metrics.seats_released(estimate.max_seats());
            return;
        };
        let schema = self.schema.clone();
        runtime.spawn(async move {
            sleep(latency).await;
            let level = &schema.level;
            let now_ns = level.now_ns();
            let dispatched = level.queues.lock().release(now_ns, queue, estimate);
            tell(dispatched, now_ns);
            schema.metrics.seats_released(estimate.max_seats());
        });
    }
}

impl fmt::Debug for PriorityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PriorityLevel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ExecutingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, queue, estimate, .. } = self;
        f.debug_struct("ExecutingRequest")
            .field("schema", &schema.name)
            .field("queue", queue)
            .field("estimate", estimate)
            .finish_non_exhaustive()
    }
}
