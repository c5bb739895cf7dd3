//! The records of clients, which are the input of the checkers, and their progress.
//!
//! Invariant: an exchange says only what the client could know; times are simulated times of the
//! client's host.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// One call of a client and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Exchange<T> {
    pub(crate) client: u64,
    pub(crate) node: u64,
    pub(crate) asked: Duration,
    pub(crate) answered: Duration,
    /// The call and its outcome.
    pub(crate) what: T,
}

/// A call with its outcome.
pub(crate) trait Call {
    /// The revision that the answer acknowledges, or shows.
    fn revision(&self) -> Option<u64>;
}

/// The records of all clients.
#[derive(Debug)]
pub(crate) struct Records<T, W> {
    pub(crate) exchanges: Vec<Exchange<T>>,
    /// What each watcher saw.
    pub(crate) watches: Vec<W>,
    pub(crate) violations: Vec<String>,
}

impl<T, W> Default for Records<T, W> {
    fn default() -> Self {
        Self { exchanges: Vec::new(), watches: Vec::new(), violations: Vec::new() }
    }
}

/// How far the clients are, shared with the driver.
#[derive(Debug)]
pub(crate) struct Progress<T, W> {
    inner: Arc<Mutex<ProgressState<T, W>>>,
}

#[derive(Debug)]
struct ProgressState<T, W> {
    records: Records<T, W>,
    done: u64,
    watched: u64,
    newest: u64,
}

impl<T, W> Clone for Progress<T, W> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T, W> Default for Progress<T, W> {
    fn default() -> Self {
        Self {
            inner: Arc::new(Mutex::new(ProgressState {
                records: Records::default(),
                done: 0,
                watched: 0,
                newest: 0,
            })),
        }
    }
}

impl<T: Call, W> Progress<T, W> {
    /// Records a finished call.
    pub(crate) fn exchanged(&self, exchange: Exchange<T>) {
        let mut inner = self.inner.lock();
        inner.newest = inner.newest.max(exchange.what.revision().unwrap_or_default());
        inner.records.exchanges.push(exchange);
    }

    /// Records a finished watch.
    pub(crate) fn watched(&self, watch: W) {
        self.inner.lock().records.watches.push(watch);
    }

    /// A client has seen for itself that something is wrong.
    pub(crate) fn violation(&self, what: String) {
        self.inner.lock().records.violations.push(what);
    }

    /// One more client that writes has finished this round.
    pub(crate) fn client_done(&self) {
        self.inner.lock().done += 1;
    }

    /// One more client that watches has seen everything of this round.
    pub(crate) fn watcher_done(&self) {
        self.inner.lock().watched += 1;
    }

    /// Whether so many clients that write, and so many that watch, have finished this round.
    pub(crate) fn is_over(&self, writing: u64, watching: u64) -> bool {
        let inner = self.inner.lock();
        (inner.done, inner.watched) == (writing, watching)
    }

    /// Begins the next round, which no client has finished.
    pub(crate) fn begin_round(&self) {
        let mut inner = self.inner.lock();
        (inner.done, inner.watched) = (0, 0);
    }

    /// How many clients that write have finished this round.
    pub(crate) fn clients_done(&self) -> u64 {
        self.inner.lock().done
    }

    /// The newest revision that any client was told, once this many clients that write have
    /// finished this round.
    pub(crate) fn last(&self, clients: u64) -> Option<u64> {
        let inner = self.inner.lock();
        (inner.done >= clients).then_some(inner.newest)
    }

    /// Everything, for the checkers.
    pub(crate) fn take(&self) -> Records<T, W> {
        std::mem::take(&mut self.inner.lock().records)
    }
}
