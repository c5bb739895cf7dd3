//! Deliberately broken variants: each breaks one promise, at a seam, and the checkers must find it.
//! They prove that a run without a violation says something.
//!
//! Nothing here is reachable without `--broken`. Declarations, and what is broken about watches;
//! `disk` and `store` break the rest.

mod disk;
mod store;

use std::sync::Arc;

use clap::ValueEnum;
use quorate_env::disk::{Disk, MemoryDisk};
use quorate_raft::Replica;
use quorate_store::{Revision, Store};

/// A promise that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Broken {
    /// Syncs of the log's files in use are answered without being carried out.
    LyingFsync,
    /// Syncs of folders are answered without being carried out.
    LyingDirSync,
    /// Syncs of the state's journal are answered without being carried out.
    LyingStateSync,
    /// Syncs that failed are called successful.
    IgnoredSyncFailure,
    /// The recovery of a lost quorum takes the last whole batch of the log for a torn one.
    ForgetfulRecovery,
    /// Votes are only remembered until the process ends.
    ForgottenVote,
    /// A member whose disk is an older copy takes part without asking the other members how far it
    /// was.
    TrustedDisk,
    /// A start takes the last whole batch of the log for a torn one.
    OvercutLog,
    /// Reads are answered from whatever the node has, without asking a quorum.
    NoReadIndex,
    /// Reads ask a quorum and then do not wait until the node has applied what it confirmed.
    UnappliedRead,
    /// A leader calls a transaction committed before a quorum has it.
    EarlyAnswer,
    /// Conflicts are found in whatever the node has, without asking the leader.
    StaleConflict,
    /// Every 29th transaction is proposed twice.
    AppliedTwice,
    /// Every 31st batch of a watch is missing.
    DroppedEvent,
    /// A watch that is resumed gives its last batch again.
    RepeatedEvent,
    /// A watch that is resumed leaves out the batch where history and news meet.
    ResumedTooLate,
    /// A watch from a revision that is not in memory any more begins with what is.
    ForgottenHistory,
    /// A watch is told now and then that what it needs is no longer kept, though it is.
    EarlyCompaction,
    /// A transaction whose fate is unknown is called not applied.
    DeniedUnknown,
    /// Conditions of transactions are not checked.
    IgnoredConditions,
    /// Bits of what is archived turn, and reading it does not notice.
    ForgedPast,
}

/// The disk that a node gets.
pub(crate) fn disk(broken: Option<Broken>, disk: MemoryDisk) -> Arc<dyn Disk> {
    match broken.and_then(disk::Lie::of) {
        Some(lie) => Arc::new(disk::LyingDisk::new(disk, lie)),
        None => Arc::new(disk),
    }
}

/// The store that a node's clients get.
pub(crate) fn store(broken: Option<Broken>, replica: &Replica) -> Arc<dyn Store> {
    match broken {
        Some(broken) => Arc::new(store::BrokenStore::new(replica.clone(), broken)),
        None => Arc::new(replica.clone()),
    }
}

/// What is wrong with one watch.
#[derive(Debug)]
pub(crate) struct WatchFault {
    broken: Option<Broken>,
    batches: u64,
}

impl WatchFault {
    pub(crate) fn new(broken: Option<Broken>) -> Self {
        Self { broken, batches: 0 }
    }

    /// Where the watch starts instead.
    pub(crate) fn start(&self, after: Revision) -> Revision {
        match self.broken {
            Some(Broken::RepeatedEvent) => Revision::new(after.get().saturating_sub(1)),
            Some(Broken::ResumedTooLate) if after > Revision::ZERO => after.next(),
            _ => after,
        }
    }

    /// Whether the next batch is kept from the client.
    pub(crate) fn drops(&mut self) -> bool {
        self.batches += 1;
        self.broken == Some(Broken::DroppedEvent) && self.batches.is_multiple_of(31)
    }
}
