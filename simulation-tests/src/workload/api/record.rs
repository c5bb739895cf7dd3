//! What clients of the API know at the end: the input of the checkers.
//!
//! Invariant: a record says only what the client could know; times are simulated times of the client's host.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::api::{Ask, Reply};

/// One question and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) client: u64,
    pub(crate) node: u64,
    pub(crate) asked: Duration,
    pub(crate) answered: Duration,
    pub(crate) ask: Ask,
    /// `None` when no whole answer came.
    pub(crate) reply: Option<Reply>,
}

/// One connection of a watcher.
#[derive(Debug, Clone)]
pub(crate) struct WatchRun {
    pub(crate) client: u64,
    pub(crate) node: u64,
    pub(crate) asked: Duration,
    pub(crate) ask: Ask,
    /// Every line, with the time when it came.
    pub(crate) lines: Vec<(Duration, Value)>,
    /// The answer instead of a stream.
    pub(crate) refused: Option<Reply>,
}

/// What all clients leave behind.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) watches: Vec<WatchRun>,
    pub(crate) violations: Vec<String>,
}

/// How far the clients are, shared with the driver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    records: Records,
    actors_done: u64,
    cleared_up: bool,
    newest: u64,
}

impl Progress {
    pub(crate) fn exchanged(&self, exchange: Exchange) {
        let mut inner = self.inner.lock();
        if let Some(reply) = exchange.reply.as_ref().filter(|reply| reply.is_success()) {
            inner.newest = inner.newest.max(reply.version().unwrap_or_default());
        }
        inner.records.exchanges.push(exchange);
    }

    pub(crate) fn watched(&self, run: WatchRun) {
        self.inner.lock().records.watches.push(run);
    }

    pub(crate) fn violation(&self, what: String) {
        self.inner.lock().records.violations.push(what);
    }

    pub(crate) fn actor_done(&self) {
        self.inner.lock().actors_done += 1;
    }

    /// How many actors have finished.
    pub(crate) fn actors_done(&self) -> u64 {
        self.inner.lock().actors_done
    }

    pub(crate) fn cleared_up(&self) {
        self.inner.lock().cleared_up = true;
    }

    /// The newest acknowledged revision, once nobody writes any more.
    pub(crate) fn last(&self) -> Option<u64> {
        let inner = self.inner.lock();
        inner.cleared_up.then_some(inner.newest)
    }

    /// Everything, for the checkers.
    pub(crate) fn take(&self) -> Records {
        std::mem::take(&mut self.inner.lock().records)
    }
}
