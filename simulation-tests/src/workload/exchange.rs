//! Calls of the store's clients and their outcomes.

use std::time::Duration;

use bytes::Bytes;
use quorate_store::{Entry, Event, Outcome, Revision, Txn};

use super::record::{self, Call};

/// A call and its outcome.
#[derive(Debug, Clone)]
pub(crate) enum StoreCall {
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
    /// No answer, or that the outcome is unknown.
    Unknown,
}

impl Call for StoreCall {
    fn revision(&self) -> Option<u64> {
        match self {
            Self::Txn(_, Decision::Decided(Outcome::Committed { revision })) => {
                Some(revision.get())
            }
            Self::Txn(..) | Self::Read { .. } => None,
        }
    }
}

/// What one watcher saw over all its connections, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchRecord {
    pub(crate) seen: Vec<Seen>,
}

/// An item of a watch.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    /// A batch that was new to it (it resumes after the last one).
    Batch(Revision, Vec<Event>),
    /// That what it needs is no longer kept: only what comes after this revision is.
    Compacted { oldest: Revision, time: Duration },
    /// A read that it goes on after.
    Restarted(Revision),
}

pub(crate) type StoreExchange = record::Exchange<StoreCall>;
pub(crate) type StoreRecords = record::Records<StoreCall, WatchRecord>;
pub(crate) type StoreProgress = record::Progress<StoreCall, WatchRecord>;
