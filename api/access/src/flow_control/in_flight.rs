//! Requests in flight: how many run at one time, and the fair queues of those that wait for a seat.
//!
//! Requests that read, that write and that stay open are counted apart. Invariants: no user holds
//! more than a share of the seats of a class, so one greedy client never takes them all; a request
//! that finds no seat waits a bounded time in a bounded queue of its user, and free seats go round
//! the users in turn; a seat is released when its holder is dropped, however the request ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a request waits for a seat before it is refused.
const WAIT: Duration = Duration::from_secs(5);
/// Requests that wait for a seat of one class, as a multiple of its seats.
const WAITING_PER_SEAT: usize = 4;
/// One user holds at most one in this many seats of a class.
const SHARES: usize = 2;
/// Seats of a server at most, so that sums of limits stay exact.
const MAX_SEATS: u32 = 1 << 24;

/// Requests that may run at one time on this node; 0 means any number.
#[derive(Debug, Clone, Copy)]
pub struct InFlightLimits {
    /// Requests that change nothing and end by themselves.
    pub read_only: usize,
    /// Requests that write.
    pub mutating: usize,
    /// Watches; these never wait for a seat.
    pub long_running: usize,
}

impl Default for InFlightLimits {
    fn default() -> Self {
        Self { read_only: 400, mutating: 200, long_running: 50_000 }
    }
}

impl InFlightLimits {
    /// The seats of all priority levels together; `None` where there is no limit to divide.
    #[must_use]
    pub fn seats(self) -> Option<u32> {
        if self.read_only == 0 || self.mutating == 0 {
            return None;
        }
        let seats = self.read_only.saturating_add(self.mutating);
        Some(u32::try_from(seats).unwrap_or(u32::MAX).min(MAX_SEATS))
    }
}

/// The class that a request is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A read that ends.
    ReadOnly,
    /// A write.
    Mutating,
    /// A watch.
    LongRunning,
}

/// Every request in flight.
#[derive(Debug)]
pub struct InFlight {
    read_only: Arc<Seats>,
    mutating: Arc<Seats>,
    long_running: Arc<Seats>,
}

impl InFlight {
    /// No request in flight yet.
    #[must_use]
    pub fn new(limits: InFlightLimits) -> Self {
        let seats = |limit, waits| Arc::new(Seats::new(limit, waits));
        Self {
            read_only: seats(limits.read_only, true),
            mutating: seats(limits.mutating, true),
            long_running: seats(limits.long_running, false),
        }
    }

    /// A seat for a request of this user; `None` when there is none in time.
    pub async fn enter(&self, class: Class, user: &str) -> Option<Seat> {
        let seats = match class {
            Class::ReadOnly => &self.read_only,
            Class::Mutating => &self.mutating,
            Class::LongRunning => &self.long_running,
        };
        seats.enter(user).await
    }
}

/// The seat of a running request; dropping it releases the seat.
#[derive(Debug)]
pub struct Seat {
    seats: Arc<Seats>,
    user: Arc<str>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.release(&self.user);
    }
}

/// The seats of one class.
#[derive(Debug)]
struct Seats {
    limit: usize,
    share: usize,
    waiting_limit: usize,
    state: Mutex<SeatState>,
}

#[derive(Debug, Default)]
struct SeatState {
    running: usize,
    waiting: usize,
    users: HashMap<Arc<str>, UserSeats>,
    /// Users with waiting requests, the next one first.
    turns: VecDeque<Arc<str>>,
}

/// The seats and waiting requests of one user.
#[derive(Debug, Default)]
struct UserSeats {
    running: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// A request that waits; dropping it leaves the queue, or releases the seat that it got too late.
struct Waiter<'p> {
    seats: &'p Arc<Seats>,
    user: Arc<str>,
    called: oneshot::Receiver<()>,
}

impl Seats {
    fn new(limit: usize, waits: bool) -> Self {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let waiting_limit = if waits { limit.saturating_mul(WAITING_PER_SEAT) } else { 0 };
        Self { limit, share: limit.div_ceil(SHARES), waiting_limit, state: Mutex::default() }
    }

    async fn enter(self: &Arc<Self>, user: &str) -> Option<Seat> {
        let mut waiter = match self.take_or_wait(user)? {
            Ok(seat) => return Some(seat),
            Err(waiter) => waiter,
        };
        match timeout(WAIT, &mut waiter.called).await {
            Ok(Ok(())) => Some(Seat { seats: self.clone(), user: waiter.user.clone() }),
            _ => None,
        }
    }

    /// A seat at once, or one to wait for; `None` when too many wait already.
    fn take_or_wait(self: &Arc<Self>, user: &str) -> Option<Result<Seat, Waiter<'_>>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let user = state
            .users
            .get_key_value(user)
            .map_or_else(|| Arc::from(user), |(user, _)| user.clone());
        let usage = state.users.entry(user.clone()).or_default();
        // No request overtakes an earlier one of its user.
        if state.running < self.limit && usage.running < self.share && usage.waiting.is_empty() {
            usage.running += 1;
            state.running += 1;
            return Some(Ok(Seat { seats: self.clone(), user }));
        }
        if state.waiting >= self.waiting_limit
            || usage.waiting.len() >= self.waiting_limit.div_ceil(SHARES)
        {
            state.forget_if_idle(&user);
            return None;
        }
        let (call, called) = oneshot::channel();
        if usage.waiting.is_empty() {
            state.turns.push_back(user.clone());
        }
        usage.waiting.push_back(call);
        state.waiting += 1;
        Some(Err(Waiter { seats: self, user, called }))
    }

    fn release(&self, user: &str) {
        let mut state = self.state.lock();
        state.running -= 1;
        if let Some(usage) = state.users.get_mut(user) {
            usage.running -= 1;
        }
        state.forget_if_idle(user);
        self.call_next(&mut state);
    }

    /// Gives a free seat to the next user in turn who may have one.
    fn call_next(&self, state: &mut SeatState) {
        for _ in 0..state.turns.len() {
            if state.running >= self.limit {
                return;
            }
            let Some(user) = state.turns.pop_front() else {
                return;
            };
            let Some(usage) = state.users.get_mut(&user) else {
                continue;
            };
            if usage.running < self.share {
                while let Some(call) = usage.waiting.pop_front() {
                    state.waiting -= 1;
                    if call.send(()).is_ok() {
                        usage.running += 1;
                        state.running += 1;
                        break;
                    }
                }
            }
            if usage.waiting.is_empty() {
                state.forget_if_idle(&user);
            } else {
                state.turns.push_back(user);
            }
        }
    }
}

impl SeatState {
    fn forget_if_idle(&mut self, user: &str) {
        if self.users.get(user).is_some_and(|usage| usage.running == 0 && usage.waiting.is_empty())
        {
            self.users.remove(user);
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.called.close();
        if self.called.try_recv().is_ok() {
            // The request was given a seat too late.
            self.seats.release(&self.user);
            return;
        }
        let mut state = self.seats.state.lock();
        let Some(usage) = state.users.get_mut(&self.user) else {
            return;
        };
        let before = usage.waiting.len();
        usage.waiting.retain(|call| !call.is_closed());
        let gone = before - usage.waiting.len();
        state.waiting -= gone;
        if gone > 0 && state.users.get(&self.user).is_some_and(|usage| usage.waiting.is_empty()) {
            state.turns.retain(|user| *user != self.user);
        }
        state.forget_if_idle(&self.user);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn seats(limit: usize) -> Arc<Seats> {
        Arc::new(Seats::new(limit, true))
    }

    /// Nothing is counted once all requests have ended.
    fn assert_empty(seats: &Seats) {
        let state = seats.state.lock();
        assert_eq!(
            (state.running, state.waiting, state.users.len(), state.turns.len()),
            (0, 0, 0, 0)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_never_takes_all_places() {
        let seats = seats(4);
        let greedy = [seats.enter("greedy").await, seats.enter("greedy").await];
        assert!(greedy.iter().all(Option::is_some));
        assert!(seats.enter("greedy").await.is_none(), "half of the seats at most");
        let others = [seats.enter("a").await, seats.enter("b").await];
        assert!(others.iter().all(Option::is_some));
        assert!(seats.enter("c").await.is_none(), "all are taken");
        drop((greedy, others));
        assert_empty(&seats);
    }

    #[tokio::test(start_paused = true)]
    async fn free_places_go_round_the_users() {
        let seats = seats(2);
        let running = [seats.enter("x").await.unwrap(), seats.enter("y").await.unwrap()];
        let mut waiting = Vec::new();
        for user in ["a", "a", "a", "b"] {
            waiting.push(Box::pin(seats.enter(user)));
            assert!(waiting.last_mut().unwrap().as_mut().now_or_never().is_none());
        }
        drop(running);
        let called: Vec<Option<Seat>> =
            waiting.iter_mut().map(|w| w.as_mut().now_or_never().flatten()).collect();
        let called: Vec<bool> = called.iter().map(Option::is_some).collect();
        assert_eq!(called, [true, false, false, true], "the first of each user");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_goes_away_leaves_nothing_behind() {
        let seats = seats(1);
        let running = seats.enter("x").await.unwrap();
        let mut first = Box::pin(seats.enter("a"));
        let mut second = Box::pin(seats.enter("b"));
        assert!(
            first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none()
        );
        drop(running);
        // The first was called but never looks.
        drop(first);
        assert!(second.await.is_some());
        assert_empty(&seats);
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_and_so_is_the_wait() {
        let seats = seats(1);
        let running = seats.enter("x").await.unwrap();
        let waiting: Vec<_> = (0..10)
            .map(|user| {
                let seats = seats.clone();
                tokio::spawn(async move { seats.enter(&user.to_string()).await.is_some() })
            })
            .collect();
        let before = tokio::time::Instant::now();
        let mut given = 0;
        for wait in waiting {
            given += usize::from(wait.await.unwrap());
        }
        assert_eq!((given, before.elapsed()), (0, WAIT));
        drop(running);
        assert_empty(&seats);
    }

    #[tokio::test]
    async fn zero_is_no_limit_and_watches_never_wait() {
        assert!(Arc::new(Seats::new(0, true)).enter("u").await.is_some());
        let watches = Arc::new(Seats::new(2, false));
        let _open = watches.enter("u").await.unwrap();
        assert!(watches.enter("u").now_or_never().unwrap().is_none());
    }
}
