//! Transactions on the leader: checked, bounded, proposed, and their fate told apart.
//!
//! Invariants: at most [`MAX_PROPOSALS`] and [`MAX_PROPOSED_KIB`] of transactions wait for their decision, on the leader and on whoever
//! forwards to it; limits are checked here, by the leader, and never when entries are applied. A proposal that Raft has taken in is never *not applied* unless
//! Raft says that it never reached the log.

use std::sync::Arc;
use std::time::Duration;

use openraft::errors::{ClientWriteError, RaftError};
use quorate_store::{Error, Limits, NotApplied, Outcome, Txn};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::core::Core;
use super::proposal_batches::Decided;
use crate::types::Command;

/// Transactions that wait for their decision.
const MAX_PROPOSALS: usize = 16_384;
/// Their keys and values together, in KiB.
const MAX_PROPOSED_KIB: usize = 256 << 10;
/// How long a proposal may wait for a quorum until its fate is called unknown.
const DECISION_TIMEOUT: Duration = Duration::from_secs(10);

/// What may be proposed, and how much is under way.
#[derive(Debug)]
pub(crate) struct Proposals {
    limits: Limits,
    count: Semaphore,
    kib: Semaphore,
}

impl Proposals {
    /// Nothing is under way.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, count: Semaphore::new(MAX_PROPOSALS), kib: Semaphore::new(MAX_PROPOSED_KIB) }
    }

    /// The limits that a leader enforces.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.count.available_permits() == MAX_PROPOSALS
    }

    /// A place for the transaction, held until it is decided.
    pub(crate) fn admit(&self, txn: &Txn) -> Result<(SemaphorePermit<'_>, SemaphorePermit<'_>), NotApplied> {
        let kib = txn.footprint().div_ceil(1024).clamp(1, MAX_PROPOSED_KIB);
        let kib = u32::try_from(kib).expect("clamped to a small number");
        let count = self.count.try_acquire().map_err(|_| NotApplied::Overloaded)?;
        let kib = self.kib.try_acquire_many(kib).map_err(|_| NotApplied::Overloaded)?;
        Ok((count, kib))
    }
}

impl Core {
    /// Puts a transaction into the next group, if this node leads, and waits for its decision.
    pub(crate) async fn propose(&self, txn: Txn) -> Result<Outcome, Error> {
        if self.is_stopped() {
            return Err(NotApplied::NoLeader.into());
        }
        self.proposals.limits.check(&txn, self.size())?;
        let _under_way = self.proposals.admit(&txn)?;
        self.groups.decide(txn).await
    }

    /// Proposes transactions as one log entry.
    pub(super) async fn propose_group(&self, txns: Arc<[Txn]>) -> Decided {
        let command = Command { time_ms: self.env.clock.now_ms(), txns };
        let decided = tokio::time::timeout(DECISION_TIMEOUT, self.raft.client_write(command)).await;
        match decided {
            Err(_) => Err(Error::Unknown("no quorum confirmed the transaction in time".to_owned())),
            Ok(Ok(response)) => Ok(response.data.outcomes),
            Ok(Err(error)) => Err(refused(&error)),
        }
    }
}

fn refused(error: &RaftError<crate::types::TypeConfig, ClientWriteError<crate::types::TypeConfig>>) -> Error {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(_)) => NotApplied::NoLeader.into(),
        RaftError::APIError(ClientWriteError::LogEntryDiscarded(_)) => {
            Error::Unknown("the leader changed before the transaction was decided".to_owned())
        }
        RaftError::APIError(other) => Error::Unknown(other.to_string()),
        RaftError::Fatal(fatal) => Error::Unknown(fatal.to_string()),
    }
}
