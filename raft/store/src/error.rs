//! Errors of the store. The one distinction that a caller must never lose: *not applied* or
//! *unknown*.
//!
//! Invariant: [`Error::NotApplied`] promises that the transaction has not been and will not be
//! applied; everything that cannot promise this is [`Error::Unknown`].

use thiserror::Error;

use crate::Revision;

/// The failure of a transaction or of a linearizable read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// Nothing was changed and nothing will be: safe to try again.
    #[error("not applied: {0}")]
    NotApplied(#[from] NotApplied),
    /// The transaction may or may not be applied, now or later.
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

/// Why a transaction was refused before it could have any effect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotApplied {
    /// No leader was found within the time allowed.
    #[error("no leader")]
    NoLeader,
    /// A queue is full; try again later.
    #[error("too many requests are waiting for the log")]
    Overloaded,
    /// The store has reached its size limit. Transactions that only delete still pass.
    #[error("the store holds {used} bytes and its limit is {limit} bytes")]
    OutOfSpace {
        /// Bytes of keys and values now.
        used: u64,
        /// The configured limit.
        limit: u64,
    },
    /// The transaction itself is larger than one log record may be.
    #[error("the transaction has {size} bytes and the limit is {limit} bytes")]
    TooLarge {
        /// Its encoded size.
        size: usize,
        /// The largest allowed.
        limit: usize,
    },
    /// The transaction breaks a rule of [`crate::Txn`].
    #[error("invalid transaction: {0}")]
    Invalid(String),
    /// This node is stopping or its disk has failed.
    #[error("the node is not serving: {0}")]
    Unavailable(String),
}

/// The failure of a read or watch at a given revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// That far back is no longer kept.
    #[error("compacted: the oldest readable revision is {oldest}")]
    Compacted {
        /// The oldest revision that can still be read exactly, and after which a watch can still
        /// start.
        oldest: Revision,
    },
    /// This node has not applied the revision yet.
    #[error("revision {at} is in the future: {applied} is applied")]
    Future {
        /// What was asked for.
        at: Revision,
        /// What is applied.
        applied: Revision,
    },
    /// Reading the kept history from disk failed; the node's log says why.
    #[error("the kept history cannot be read")]
    Unreadable,
}
