//! The queue set of a priority level: its seats, the queues of requests that wait for them, and
//! which of those is next (fair queuing of KEP-1040).
//!
//! Pure and deterministic: the time is given, and what waits is any value. Invariants: the seats in
//! use are those of the requests that execute or have executed and are not yet released; a request
//! leaves once, as executing, cancelled or rejected; without a waiting request, an arrival costs the
//! same however many queues there are.
//!
//! R, here `progress`, measures how far fair queuing has come: in each unit of it every active queue
//! has had as much service as any other one, in seats times nanoseconds. A queue's next request
//! begins at its `next_dispatch` in R, and of all queues the one is next whose request ends first.

mod arrival;
mod queue;
mod status;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use super::demand::{DemandIntegrator, DemandObservation};
use super::level_config::{LimitResponse, Queuing};
use super::shuffle_sharding::deal;
use super::work_estimate::WorkEstimate;
pub use arrival::RejectReason;
pub(super) use arrival::{Arrival, Ticket};
use queue::{Queue, SERVICE_NS, Waiting, work};
pub use status::QueueStatus;

/// What waited and executes now.
pub(super) type Dispatched<W> = SmallVec<[W; 4]>;

/// The queues of one level.
#[derive(Debug)]
pub(super) struct QueueSet<W> {
    response: LimitResponse,
    /// Seats, as of the last adjustment.
    limit: u32,
    queues: Vec<Queue<W>>,
    /// The queues in which requests wait.
    waiting_in: Vec<u32>,
    /// The queue that was served last.
    served: u32,
    progress: i128,
    advanced_ns: u64,
    /// Queues with requests that wait or execute.
    active_queues: u32,
    totals: Totals,
    counts: Counts,
    last_id: u64,
    demand: DemandIntegrator,
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) executing: u32,
    pub(super) seats_in_use: u32,
    /// Those of requests that were dealt a queue.
    seats_of_queues: u32,
    pub(super) waiting: u32,
    pub(super) seats_waiting: u32,
}

/// How many requests there have been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that have begun to execute.
    pub dispatched: u64,
    /// Those that were rejected when they came.
    pub rejected: u64,
    /// Those that have waited for too long.
    pub timed_out: u64,
    /// Those whose client has left while they waited.
    pub cancelled: u64,
}

impl<W> QueueSet<W> {
    /// Nothing executes and nothing waits.
    pub(super) fn new(response: LimitResponse, limit: u32, now_ns: u64) -> Self {
        let mut set = Self {
            response,
            limit,
            queues: Vec::new(),
            waiting_in: Vec::new(),
            served: 0,
            progress: 0,
            advanced_ns: now_ns,
            active_queues: 0,
            totals: Totals::default(),
            counts: Counts::default(),
            last_id: 0,
            demand: DemandIntegrator::new(now_ns),
        };
        set.fit_queues();
        set
    }

    /// Changes what the level does and how many seats it has. Gives what may execute now.
    pub(super) fn configure(
        &mut self,
        now_ns: u64,
        response: LimitResponse,
        limit: u32,
    ) -> Dispatched<W> {
        self.advance(now_ns);
        (self.response, self.limit) = (response, limit);
        self.fit_queues();
        self.dispatch(now_ns)
    }

    /// A request with this hash comes; `wait` makes what waits in its place.
    pub(super) fn arrive(
        &mut self,
        now_ns: u64,
        hash: u64,
        estimate: WorkEstimate,
        wait: impl FnOnce() -> W,
    ) -> (Arrival, Dispatched<W>) {
        self.advance(now_ns);
        let seats = estimate.max_seats();
        let queuing = match self.response {
            LimitResponse::Exempt => {
                self.execute(now_ns, None, seats);
                return (Arrival::Executing(None), Dispatched::new());
            }
            // Those that wait come from a time when there were queues, and come first.
            LimitResponse::Reject if self.totals.waiting == 0 && self.has_room(seats) => {
                self.execute(now_ns, None, seats);
                return (Arrival::Executing(None), Dispatched::new());
            }
            LimitResponse::Reject => {
                self.counts.rejected += 1;
                return (Arrival::Rejected(RejectReason::ConcurrencyLimit), Dispatched::new());
            }
            LimitResponse::Queue(queuing) => queuing,
        };
        let at = self.choose_queue(hash, queuing);
        if self.totals.waiting == 0 && self.has_room(seats) {
            self.activate(at);
            self.queues[at as usize].next_dispatch += work(estimate);
            self.execute(now_ns, Some(at), seats);
            return (Arrival::Executing(Some(at)), Dispatched::new());
        }
        if self.queues[at as usize].waiting.len() >= queuing.queue_length_limit as usize {
            self.counts.rejected += 1;
            return (Arrival::Rejected(RejectReason::QueueFull), Dispatched::new());
        }
        let ticket = self.enqueue(now_ns, at, estimate, wait());
        (Arrival::Waiting(ticket), self.dispatch(now_ns))
    }

    /// A request that has executed since `started_ns` ends. Its seats stay in use until
    /// [`QueueSet::release`]. Gives what may execute now: another queue may be the next one.
    pub(super) fn finish(
        &mut self,
        now_ns: u64,
        queue: Option<u32>,
        estimate: WorkEstimate,
        started_ns: u64,
    ) -> Dispatched<W> {
        self.advance(now_ns);
        self.totals.executing -= 1;
        let Some(at) = queue else { return Dispatched::new() };
        let queue = &mut self.queues[at as usize];
        queue.executing -= 1;
        // Now it is known how long it took.
        let took = i128::from(now_ns.saturating_sub(started_ns));
        queue.next_dispatch -= i128::from(estimate.initial_seats) * (SERVICE_NS - took);
        queue.bound_dispatch();
        if queue.is_idle() {
            self.active_queues -= 1;
        }
        self.dispatch(now_ns)
    }

    /// Gives back the seats of a request that has ended. Gives what may execute now.
    pub(super) fn release(
        &mut self,
        now_ns: u64,
        queue: Option<u32>,
        estimate: WorkEstimate,
    ) -> Dispatched<W> {
        self.advance(now_ns);
        let seats = estimate.max_seats();
        self.totals.seats_in_use -= seats;
        if let Some(at) = queue {
            self.totals.seats_of_queues -= seats;
            self.queues[at as usize].seats_in_use -= seats;
            self.trim_queues();
        }
        self.note_demand(now_ns);
        self.dispatch(now_ns)
    }

    /// Takes a request out of its queue, whose time is over or whose client has left; `None` when
    /// it is not there any more, because it was dispatched. Gives what may execute now.
    pub(super) fn cancel(
        &mut self,
        now_ns: u64,
        ticket: Ticket,
        is_late: bool,
    ) -> Option<Dispatched<W>> {
        self.advance(now_ns);
        let waiting = &self.queues.get(ticket.queue as usize)?.waiting;
        let place = waiting.iter().position(|waiting| waiting.id == ticket.id)?;
        self.take_waiting(ticket.queue, place)?;
        let count = if is_late { &mut self.counts.timed_out } else { &mut self.counts.cancelled };
        *count += 1;
        if self.queues[ticket.queue as usize].is_idle() {
            self.active_queues -= 1;
        }
        self.trim_queues();
        self.note_demand(now_ns);
        Some(self.dispatch(now_ns))
    }

    /// How much of everything there is.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// How many requests there have been.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// R, in seats times seconds.
    pub(super) fn progress(&self) -> f64 {
        self.progress as f64 / 1e9
    }

    /// How many queues are active.
    pub(super) fn active_queues(&self) -> u32 {
        self.active_queues
    }

    /// Whether it holds and awaits nothing.
    pub(super) fn is_idle(&self) -> bool {
        let Totals { executing, seats_in_use, waiting, .. } = self.totals;
        (executing, seats_in_use, waiting) == (0, 0, 0)
    }

    /// The demand since this was asked last.
    pub(super) fn observe_demand(&mut self, now_ns: u64) -> DemandObservation {
        self.demand.reset(now_ns)
    }

    /// Moves R on to this moment.
    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.advanced_ns);
        self.advanced_ns = self.advanced_ns.max(now_ns);
        if self.active_queues > 0 {
            let wanted = self.totals.seats_of_queues.saturating_add(self.totals.seats_waiting);
            let seats = i128::from(wanted.min(self.limit));
            self.progress += i128::from(passed) * seats / i128::from(self.active_queues);
        }
    }

    /// The queue of the flow's hand with the least work.
    fn choose_queue(&self, hash: u64, queuing: Queuing) -> u32 {
        let load = |at: &u32| {
            let queue = &self.queues[*at as usize];
            queue.work_waiting + i128::from(queue.seats_in_use) * SERVICE_NS
        };
        let hand = deal(hash, queuing.queues, queuing.hand_size);
        hand.into_iter().min_by_key(load).unwrap_or_default()
    }

    fn enqueue(&mut self, now_ns: u64, at: u32, estimate: WorkEstimate, waiter: W) -> Ticket {
        self.activate(at);
        self.last_id += 1;
        let (id, seats, work) = (self.last_id, estimate.max_seats(), work(estimate));
        let queue = &mut self.queues[at as usize];
        if queue.waiting.is_empty() {
            self.waiting_in.push(at);
        }
        queue.waiting.push_back(Waiting { id, estimate, work, arrival: self.progress, waiter });
        queue.work_waiting += work;
        queue.bound_dispatch();
        let queue_length = queue.waiting.len();
        self.totals.waiting += 1;
        self.totals.seats_waiting += seats;
        self.note_demand(now_ns);
        Ticket { queue: at, id, queue_length }
    }

    /// Before a request is added to a queue: an idle one begins where the others are now.
    fn activate(&mut self, at: u32) {
        let queue = &mut self.queues[at as usize];
        if queue.is_idle() {
            queue.next_dispatch = self.progress;
            self.active_queues += 1;
        }
    }

    fn execute(&mut self, now_ns: u64, queue: Option<u32>, seats: u32) {
        self.counts.dispatched += 1;
        self.totals.executing += 1;
        self.totals.seats_in_use += seats;
        if let Some(at) = queue {
            self.totals.seats_of_queues += seats;
            let queue = &mut self.queues[at as usize];
            queue.executing += 1;
            queue.seats_in_use += seats;
        }
        self.note_demand(now_ns);
    }

    /// Whether so many seats are free. What is wider than the level has them all to itself.
    fn has_room(&self, seats: u32) -> bool {
        let seats_in_use = self.totals.seats_in_use;
        if self.response == LimitResponse::Exempt {
            return true;
        }
        let fits = seats_in_use.checked_add(seats).is_some_and(|wanted| wanted <= self.limit);
        fits || (seats > self.limit && seats_in_use == 0)
    }

    /// Starts as many of the waiting requests as there is room for.
    fn dispatch(&mut self, now_ns: u64) -> Dispatched<W> {
        let mut dispatched = Dispatched::new();
        while let Some(at) = self.next_queue() {
            let first = self.queues[at as usize].waiting.front();
            let seats = first.map_or(0, |first| first.estimate.max_seats());
            if !self.has_room(seats) {
                break;
            }
            // It is not idle in between: what is taken out of it executes.
            let Some(first) = self.take_waiting(at, 0) else { break };
            self.served = at;
            self.execute(now_ns, Some(at), seats);
            let queue = &mut self.queues[at as usize];
            queue.next_dispatch += first.work;
            queue.bound_dispatch();
            dispatched.push(first.waiter);
        }
        dispatched
    }

    /// The queue whose first request would end first; among equals, the one that comes next after
    /// the one that was served last.
    fn next_queue(&self) -> Option<u32> {
        let rank = |at: &u32| {
            let queue = &self.queues[*at as usize];
            let work = queue.waiting.front().map_or(0, |first| first.work);
            (queue.next_dispatch + work, at.wrapping_sub(self.served).wrapping_sub(1))
        };
        self.waiting_in.iter().copied().min_by_key(rank)
    }

    fn take_waiting(&mut self, at: u32, place: usize) -> Option<Waiting<W>> {
        let queue = &mut self.queues[at as usize];
        let taken = queue.waiting.remove(place)?;
        queue.work_waiting -= taken.work;
        queue.bound_dispatch();
        if queue.waiting.is_empty() {
            self.waiting_in.retain(|own| *own != at);
        }
        self.totals.waiting -= 1;
        self.totals.seats_waiting -= taken.estimate.max_seats();
        Some(taken)
    }

    fn note_demand(&mut self, now_ns: u64) {
        let Totals { seats_in_use, seats_waiting, .. } = self.totals;
        self.demand.set(now_ns, seats_in_use.saturating_add(seats_waiting));
    }

    /// As many queues as the level has. Those that are too many go when they are empty.
    fn fit_queues(&mut self) {
        let wanted = self.wanted_queues();
        if self.queues.len() < wanted {
            self.queues.resize_with(wanted, Queue::default);
        }
        self.trim_queues();
    }

    fn trim_queues(&mut self) {
        let wanted = self.wanted_queues();
        while self.queues.len() > wanted && self.queues.last().is_some_and(Queue::is_unused) {
            self.queues.pop();
        }
    }

    fn wanted_queues(&self) -> usize {
        match self.response {
            LimitResponse::Queue(queuing) => queuing.queues as usize,
            LimitResponse::Exempt | LimitResponse::Reject => 0,
        }
    }
}
