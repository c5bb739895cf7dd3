//! Proposals: transactions on the leader, checked, bounded and proposed, with *not applied* and
//! *unknown* kept apart.
//!
//! Invariants: at most [`MAX_PROPOSALS`] and [`MAX_PROPOSED_KIB`] of transactions wait for their
//! decision, on the leader and on the follower that forwards to it; limits are checked here, by the
//! leader, and never when entries are applied. A proposal that openraft has accepted is never *not
//! applied* unless openraft says that it never reached the log.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use openraft::errors::{ClientWriteError, RaftError};
use quorate_env::Clock;
use quorate_store::{Error, Limits, NotApplied, Outcome, Serving, Txn};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::proposal_batches::{BatchOutcome, ProposalBatches};
use crate::core::RaftNode;
use crate::types::{Command, Response, TypeConfig};

/// Transactions that wait for their decision.
const MAX_PROPOSALS: usize = 16_384;
/// Their keys and values together, in KiB.
const MAX_PROPOSED_KIB: usize = 256 << 10;
/// How long a proposal may wait for a quorum until its outcome is called unknown.
const DECISION_TIMEOUT: Duration = Duration::from_secs(10);

/// What may be proposed, what is under way, and the way to the log.
pub(super) struct Proposals {
    limits: Limits,
    count: Semaphore,
    kib: Semaphore,
    batches: ProposalBatches,
    proposer: Arc<Proposer>,
    serving: Serving,
}

/// Proposes batches as log entries.
struct Proposer {
    raft: Arc<RaftNode>,
    clock: Arc<dyn Clock>,
}

impl Proposals {
    /// Nothing is under way.
    pub(super) fn new(
        limits: Limits,
        raft: Arc<RaftNode>,
        clock: Arc<dyn Clock>,
        serving: Serving,
    ) -> Self {
        Self {
            limits,
            count: Semaphore::new(MAX_PROPOSALS),
            kib: Semaphore::new(MAX_PROPOSED_KIB),
            batches: ProposalBatches::default(),
            proposer: Arc::new(Proposer { raft, clock }),
            serving,
        }
    }

    /// The limits that a leader enforces.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.count.available_permits() == MAX_PROPOSALS
    }

    /// Permits for the transaction, held until it is decided.
    pub(super) fn admit(
        &self,
        txn: &Txn,
    ) -> Result<(SemaphorePermit<'_>, SemaphorePermit<'_>), NotApplied> {
        let kib = txn.footprint().div_ceil(1024).clamp(1, MAX_PROPOSED_KIB);
        let kib = u32::try_from(kib).expect("clamped to a small number");
        let count = self.count.try_acquire().map_err(|_| NotApplied::Overloaded)?;
        let kib = self.kib.try_acquire_many(kib).map_err(|_| NotApplied::Overloaded)?;
        Ok((count, kib))
    }

    /// Puts a transaction into the next batch, if this node leads, and waits for its decision.
    pub(super) async fn propose(&self, txn: Txn) -> Result<Outcome, Error> {
        if self.proposer.raft.is_stopped() {
            return Err(NotApplied::NoLeader.into());
        }
        self.limits.check(&txn, &self.serving.snapshot())?;
        let _under_way = self.admit(&txn)?;
        self.batches.decide(txn).await
    }

    /// Proposes batches, for ever.
    pub(super) async fn run(&self) {
        let propose = |txns| {
            let proposer = self.proposer.clone();
            async move { proposer.propose(txns).await }.boxed()
        };
        self.batches.run(propose).await;
    }
}

impl Proposer {
    /// Proposes transactions as one log entry.
    async fn propose(&self, txns: Arc<[Txn]>) -> BatchOutcome {
        let command = Command { time_ms: self.clock.now_ms(), txns };
        let decided =
            tokio::time::timeout(DECISION_TIMEOUT, self.raft.openraft().client_write(command))
                .await;
        let failed = |error| BatchOutcome { decided: Err(error), applied: None };
        match decided {
            Err(_) => {
                failed(Error::Unknown("no quorum confirmed the transaction in time".to_owned()))
            }
            Ok(Ok(response)) => {
                let Response { outcomes, applied } = response.data;
                BatchOutcome { decided: Ok(outcomes), applied }
            }
            Ok(Err(error)) => failed(refused(&error)),
        }
    }
}

fn refused(error: &RaftError<TypeConfig, ClientWriteError<TypeConfig>>) -> Error {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(_)) => NotApplied::NoLeader.into(),
        RaftError::APIError(ClientWriteError::LogEntryDiscarded(_)) => {
            Error::Unknown("the leader changed before the transaction was decided".to_owned())
        }
        RaftError::APIError(other) => Error::Unknown(other.to_string()),
        RaftError::Fatal(fatal) => Error::Unknown(fatal.to_string()),
    }
}
