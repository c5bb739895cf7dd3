//! How many requests run at a time, and who waits for whom.
//!
//! Requests that read, that write and that stay open are counted apart. Invariants: nobody holds more than a share of the
//! places of a class, so one greedy identity never takes them all; who finds no place waits a bounded time in a bounded
//! queue of their own, and free places go round the queues in turn; a place is given back when its holder is dropped,
//! whatever became of the request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a request waits for a place before it is refused.
const WAIT: Duration = Duration::from_secs(5);
/// Requests that wait for a place of one class, as a multiple of its places.
const WAITING_PER_PLACE: usize = 4;
/// One identity holds at most one in this many places of a class.
const SHARES: usize = 2;

/// Requests that may run at one time on this node; 0 means any number.
#[derive(Debug, Clone, Copy)]
pub struct InFlightLimits {
    /// Requests that change nothing and end by themselves.
    pub read_only: usize,
    /// Requests that write.
    pub mutating: usize,
    /// Watches; these never wait for a place.
    pub long_running: usize,
}

impl Default for InFlightLimits {
    fn default() -> Self {
        Self { read_only: 400, mutating: 200, long_running: 50_000 }
    }
}

/// What a request is counted as.
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
    read_only: Arc<Places>,
    mutating: Arc<Places>,
    long_running: Arc<Places>,
}

impl InFlight {
    /// No request in flight yet.
    #[must_use]
    pub fn new(limits: InFlightLimits) -> Self {
        let places = |limit, waits| Arc::new(Places::new(limit, waits));
        Self {
            read_only: places(limits.read_only, true),
            mutating: places(limits.mutating, true),
            long_running: places(limits.long_running, false),
        }
    }

    /// A place for a request of this user; `None` when there is none in time.
    pub async fn enter(&self, class: Class, user: &str) -> Option<Place> {
        let places = match class {
            Class::ReadOnly => &self.read_only,
            Class::Mutating => &self.mutating,
            Class::LongRunning => &self.long_running,
        };
        places.enter(user).await
    }
}

/// A running request's place; dropping it gives it back.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    user: Arc<str>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.release(&self.user);
    }
}

/// The places of one class.
#[derive(Debug)]
struct Places {
    limit: usize,
    share: usize,
    waiting_limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    users: HashMap<Arc<str>, Usage>,
    /// Users with waiting requests, the next one first.
    turns: VecDeque<Arc<str>>,
}

/// What one user has of a class.
#[derive(Debug, Default)]
struct Usage {
    running: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// A request that waits; dropping it gives up its place in the queue, or the place that it got too late.
struct Waiter<'p> {
    places: &'p Arc<Places>,
    user: Arc<str>,
    called: oneshot::Receiver<()>,
}

impl Places {
    fn new(limit: usize, waits: bool) -> Self {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let waiting_limit = if waits { limit.saturating_mul(WAITING_PER_PLACE) } else { 0 };
        Self { limit, share: limit.div_ceil(SHARES), waiting_limit, state: Mutex::default() }
    }

    async fn enter(self: &Arc<Self>, user: &str) -> Option<Place> {
        let mut waiter = match self.take_or_wait(user)? {
            Ok(place) => return Some(place),
            Err(waiter) => waiter,
        };
        match timeout(WAIT, &mut waiter.called).await {
            Ok(Ok(())) => Some(Place { places: self.clone(), user: waiter.user.clone() }),
            _ => None,
        }
    }

    /// A place at once, or one to wait for; `None` when too many wait already.
    fn take_or_wait(self: &Arc<Self>, user: &str) -> Option<Result<Place, Waiter<'_>>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let user = state.users.get_key_value(user).map_or_else(|| Arc::from(user), |(user, _)| user.clone());
        let usage = state.users.entry(user.clone()).or_default();
        // Nobody overtakes their own requests.
        if state.running < self.limit && usage.running < self.share && usage.waiting.is_empty() {
            usage.running += 1;
            state.running += 1;
            return Some(Ok(Place { places: self.clone(), user }));
        }
        if state.waiting >= self.waiting_limit || usage.waiting.len() >= self.waiting_limit.div_ceil(SHARES) {
            state.forget_if_idle(&user);
            return None;
        }
        let (call, called) = oneshot::channel();
        if usage.waiting.is_empty() {
            state.turns.push_back(user.clone());
        }
        usage.waiting.push_back(call);
        state.waiting += 1;
        Some(Err(Waiter { places: self, user, called }))
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

    /// Gives a free place to the next user in turn who may have one.
    fn call_next(&self, state: &mut State) {
        for _ in 0..state.turns.len() {
            if state.running >= self.limit {
                return;
            }
            let Some(user) = state.turns.pop_front() else { return };
            let Some(usage) = state.users.get_mut(&user) else { continue };
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

impl State {
    fn forget_if_idle(&mut self, user: &str) {
        if self.users.get(user).is_some_and(|usage| usage.running == 0 && usage.waiting.is_empty()) {
            self.users.remove(user);
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.called.close();
        if self.called.try_recv().is_ok() {
            // The call came too late for this request.
            self.places.release(&self.user);
            return;
        }
        let mut state = self.places.state.lock();
        let Some(usage) = state.users.get_mut(&self.user) else { return };
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

    fn places(limit: usize) -> Arc<Places> {
        Arc::new(Places::new(limit, true))
    }

    /// What is left in the books when nobody is there any more.
    fn assert_empty(places: &Places) {
        let state = places.state.lock();
        assert_eq!((state.running, state.waiting, state.users.len(), state.turns.len()), (0, 0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_never_takes_all_places() {
        let places = places(4);
        let greedy = [places.enter("greedy").await, places.enter("greedy").await];
        assert!(greedy.iter().all(Option::is_some));
        assert!(places.enter("greedy").await.is_none(), "half of the places at most");
        let others = [places.enter("a").await, places.enter("b").await];
        assert!(others.iter().all(Option::is_some));
        assert!(places.enter("c").await.is_none(), "all are taken");
        drop((greedy, others));
        assert_empty(&places);
    }

    #[tokio::test(start_paused = true)]
    async fn free_places_go_round_the_users() {
        let places = places(2);
        let running = [places.enter("x").await.unwrap(), places.enter("y").await.unwrap()];
        let mut waiting = Vec::new();
        for user in ["a", "a", "a", "b"] {
            waiting.push(Box::pin(places.enter(user)));
            assert!(waiting.last_mut().unwrap().as_mut().now_or_never().is_none());
        }
        drop(running);
        let called: Vec<Option<Place>> = waiting.iter_mut().map(|w| w.as_mut().now_or_never().flatten()).collect();
        let called: Vec<bool> = called.iter().map(Option::is_some).collect();
        assert_eq!(called, [true, false, false, true], "the first of each user");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_goes_away_leaves_nothing_behind() {
        let places = places(1);
        let running = places.enter("x").await.unwrap();
        let mut first = Box::pin(places.enter("a"));
        let mut second = Box::pin(places.enter("b"));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        drop(running);
        // The first was called but never looks.
        drop(first);
        assert!(second.await.is_some());
        assert_empty(&places);
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_and_so_is_the_wait() {
        let places = places(1);
        let running = places.enter("x").await.unwrap();
        let waiting: Vec<_> = (0..10)
            .map(|user| {
                let places = places.clone();
                tokio::spawn(async move { places.enter(&user.to_string()).await.is_some() })
            })
            .collect();
        let before = tokio::time::Instant::now();
        let mut given = 0;
        for wait in waiting {
            given += usize::from(wait.await.unwrap());
        }
        assert_eq!((given, before.elapsed()), (0, WAIT));
        drop(running);
        assert_empty(&places);
    }

    #[tokio::test]
    async fn zero_is_no_limit_and_watches_never_wait() {
        assert!(Arc::new(Places::new(0, true)).enter("u").await.is_some());
        let watches = Arc::new(Places::new(2, false));
        let _open = watches.enter("u").await.unwrap();
        assert!(watches.enter("u").now_or_never().unwrap().is_none());
    }
}
