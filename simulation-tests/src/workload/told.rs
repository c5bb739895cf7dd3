//! What clients of the store ask, and what they are told.

use std::time::Duration;

use bytes::Bytes;
use quorate_store::{Entry, Event, Outcome, Revision, Txn};

use super::record::{self, Asked};

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

impl Asked for What {
    fn revision(&self) -> Option<u64> {
        match self {
            Self::Txn(_, Decision::Decided(Outcome::Committed { revision })) => Some(revision.get()),
            Self::Txn(..) | Self::Read { .. } => None,
        }
    }
}

/// What one watcher saw over all its connections, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchRecord {
    pub(crate) seen: Vec<Seen>,
}

/// What a watcher is told.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    /// A batch that was new to it (it resumes after the last one).
    Batch(Revision, Vec<Event>),
    /// That what it needs is no longer kept: only what comes after this revision is.
    Compacted { oldest: Revision, time: Duration },
    /// A read that it goes on after.
    Restarted(Revision),
}

pub(crate) type Exchange = record::Exchange<What>;
pub(crate) type Records = record::Records<What, WatchRecord>;
pub(crate) type Progress = record::Progress<What, WatchRecord>;
