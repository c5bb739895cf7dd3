//! The past: every version of every key and every transaction, as far back as an archive keeps them.
//!
//! Invariants: what a transaction that was acknowledged has changed is in the past at once; an answer
//! is what was, or an error that says why it is not known, never a guess. Every method but
//! [`Past::extent`] may read a disk and takes its caller's thread for that long:
//! `quorate_env::blocking` is the place for it. What was purged ([`crate::Purges`]) is in no answer of
//! a member that has applied the record: its entries have an empty value where versions and
//! transactions are told, are left out of ranges, and are an error where one is asked for. Who may
//! read what is not decided here.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use crate::{Batch, Entry, Purge, Revision};

/// What was, seen from one node.
pub trait Past: Send + Sync + fmt::Debug + 'static {
    /// How far back it reaches. Never waits.
    fn extent(&self) -> Extent;

    /// The newest revision at this time, milliseconds since the Unix epoch. A time in the future is
    /// the newest revision's.
    ///
    /// # Errors
    /// [`PastError::Expired`] for a time before the extent; those of reading.
    fn revision_at(&self, time_ms: u64) -> Result<Revision, PastError>;

    /// When the transaction of this revision was proposed, milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// See [`PastError`].
    fn time_of(&self, at: Revision) -> Result<u64, PastError>;

    /// What the key held at this revision; `None` when it was absent.
    ///
    /// # Errors
    /// [`PastError::Purged`]; those of reading.
    fn get(&self, key: &[u8], at: Revision) -> Result<Option<Entry>, PastError>;

    /// The keys with this prefix strictly after `after` and what they held at this revision, in the
    /// order of keys, `limit` of them at most, without those that held what was purged.
    ///
    /// # Errors
    /// See [`PastError`].
    fn range(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        at: Revision,
        limit: usize,
    ) -> Result<Vec<(Bytes, Entry)>, PastError>;

    /// The versions of a key that are older than `before`, newest first, `limit` of them at most.
    /// The last one may be older than the extent: it is what the key held where the extent begins.
    ///
    /// # Errors
    /// See [`PastError`].
    fn versions(
        &self,
        key: &[u8],
        before: Revision,
        limit: usize,
    ) -> Result<Vec<Version>, PastError>;

    /// The transactions after this revision in their order, without a gap, about `max_bytes` of them
    /// and at least one; none when `after` is the newest. Their events have what the key held
    /// before.
    ///
    /// # Errors
    /// See [`PastError`].
    fn changes(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, PastError>;

    /// How much a purge would take that is still there. May look through all of the past.
    ///
    /// # Errors
    /// See [`PastError`].
    fn count_purged(&self, purge: &Purge) -> Result<PurgeCount, PastError>;
}

/// What a purge takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeCount {
    /// Objects of which it takes a version.
    pub objects: usize,
    /// Versions with contents that it takes.
    pub versions: usize,
}

/// How far back the past reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extent {
    /// The oldest revision whose state can be read, and after which transactions are known.
    pub oldest: Revision,
    /// When that was, milliseconds since the Unix epoch.
    pub oldest_ms: u64,
    /// The newest revision.
    pub newest: Revision,
    /// When that was, milliseconds since the Unix epoch.
    pub newest_ms: u64,
    /// What between them is not here at the moment, ascending.
    pub gaps: Vec<Gap>,
}

/// Transactions that are not here, though others before them are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last revision before it.
    pub after: Revision,
    /// The last revision in it.
    pub last: Revision,
}

/// A version of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The transaction that made it.
    pub revision: Revision,
    /// When, milliseconds since the Unix epoch; `None` when the transaction is older than the extent.
    pub time_ms: Option<u64>,
    /// See [`crate::Txn::origin`]; empty when the transaction is older than the extent.
    pub origin: Bytes,
    /// What the key held; `None` after a deletion. Without a value when that was purged.
    pub entry: Option<Entry>,
}

/// Why the past cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PastError {
    /// That far back is no longer kept.
    #[error("the oldest revision that is kept is {oldest}")]
    Expired {
        /// See [`Extent::oldest`].
        oldest: Revision,
        /// See [`Extent::oldest_ms`].
        oldest_ms: u64,
    },
    /// This node has not applied the revision yet.
    #[error("revision {at} is in the future: {applied} is applied")]
    Future {
        /// What was asked for.
        at: Revision,
        /// What is applied.
        applied: Revision,
    },
    /// A part of it is not here, and may be on another node.
    #[error("what happened after revision {} up to {} is not here", gap.after, gap.last)]
    Missing {
        /// That part.
        gap: Gap,
    },
    /// What the key held then was purged.
    #[error("what was there was purged, with all versions up to revision {upto}")]
    Purged {
        /// See [`Purge::upto`].
        upto: Revision,
        /// See [`Purge::time_ms`].
        time_ms: u64,
    },
    /// Reading it failed; the node's log says why.
    #[error("the archive cannot be read")]
    Unreadable,
}
