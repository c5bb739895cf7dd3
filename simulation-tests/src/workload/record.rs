//! What clients know at the end: the input of the checkers.
//!
//! Invariant: a record says only what the client could know; times are simulated times of the client's host.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_store::{Entry, Event, Outcome, Revision, Txn};

/// One finished question of a client.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) client: u64,
    pub(crate) node: u64,
    pub(crate) asked: Duration,
    pub(crate) answered: Duration,
    pub(crate) what: What,
}

/// The question and its answer.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// A transaction.
    Txn(Txn, Decision),
    /// A linearizable read.
    Read { keys: Vec<Bytes>, at: Revision, found: Vec<Option<Entry>> },
}

/// What the client was told of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Committed, or a conflict.
    Decided(Outcome),
    /// Not applied.
    Refused,
    /// Nothing, or that nobody knows.
    Unknown,
}

/// What one watcher saw over all its connections, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchRecord {
    /// Every batch that was new to it (it resumes after the last one).
    pub(crate) batches: Vec<(Revision, Vec<Event>)>,
    /// Told that what it needs is no longer kept.
    pub(crate) compacted: Vec<Revision>,
    pub(crate) connections: u64,
}

/// What all clients leave behind.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) records: Vec<Record>,
    pub(crate) watches: Vec<WatchRecord>,
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
    writers_done: u64,
    newest: Revision,
}

impl Progress {
    pub(crate) fn record(&self, record: Record) {
        let mut inner = self.inner.lock();
        if let What::Txn(_, Decision::Decided(Outcome::Committed { revision })) = &record.what {
            inner.newest = inner.newest.max(*revision);
        }
        inner.records.records.push(record);
    }

    pub(crate) fn violation(&self, what: String) {
        self.inner.lock().records.violations.push(what);
    }

    pub(crate) fn writer_done(&self) {
        self.inner.lock().writers_done += 1;
    }

    pub(crate) fn watched(&self, watch: WatchRecord) {
        self.inner.lock().records.watches.push(watch);
    }

    /// The newest acknowledged revision, once this many writers have finished.
    pub(crate) fn last(&self, writers: u64) -> Option<Revision> {
        let inner = self.inner.lock();
        (inner.writers_done >= writers).then_some(inner.newest)
    }

    /// Everything, for the checkers.
    pub(crate) fn take(&self) -> Records {
        std::mem::take(&mut self.inner.lock().records)
    }
}
