//! The store of a replica: transactions go to the leader, reads and watches are served here.
//!
//! Invariants: *not applied* for want of a leader is retried until [`RETRY_FOR`] has passed,
//! *unknown* never is; a linearizable read returns only after this node has applied what a quorum
//! confirmed after the read began.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use openraft::async_runtime::WatchReceiver;
use quorate_archive::Archive;
use quorate_store::{
    Error, HistoryError, Limits, NotApplied, Outcome, Past, Revision, Serving, Snapshot, Status,
    Store, Txn, Watch,
};
use quorate_trace::{OpenSpan, in_span, start};
use tokio::time::{Instant, timeout_at};

use super::forward::Forwarder;
use super::forward::message::{ForwardRequest, ForwardResponse};
use super::forward::patience::{Impatience, answered};
use super::forward::session::ForwardError;
use super::proposals::Proposals;
use super::read_index::ReadIndex;
use crate::core::{Leader, RaftNode};
use crate::types::LogId;

/// How long a leader is looked for. Longer than any election.
const RETRY_FOR: Duration = Duration::from_secs(5);
/// The pause between attempts, unless the leadership changes before.
const RETRY_PAUSE: Duration = Duration::from_millis(25);

/// What a member serves and proposes.
pub(super) struct ReplicaStore {
    /// What was, where an archive is kept.
    pub(super) archive: Option<Archive>,
    pub(super) raft: Arc<RaftNode>,
    pub(super) serving: Serving,
    pub(super) forwarder: Arc<Forwarder>,
    pub(super) proposals: Arc<Proposals>,
    pub(super) reads: Arc<ReadIndex>,
}

impl ReplicaStore {
    /// See [`Store::read_index`].
    pub(super) async fn read_index(&self) -> Result<Revision, Error> {
        let deadline = Instant::now() + RETRY_FOR;
        let index = in_span("raft.read_index", pin!(self.read_point(deadline))).await?;
        let applying = pin!(timeout_at(deadline, self.raft.applied_index(index)));
        in_span("raft.wait_applied", applying).await.map_err(|_| lagging())??;
        Ok(self.serving.revision())
    }

    async fn read_point(&self, deadline: Instant) -> Result<u64, Error> {
        loop {
            match self.reads.next().await {
                Ok(index) => return Ok(index),
                Err(reason) => self.pause(reason, deadline).await?,
            }
        }
    }

    /// See [`Store::txn`].
    pub(super) async fn transact(&self, txn: &Txn) -> Result<Outcome, Error> {
        self.proposals.limits().check_txn(txn)?;
        let deadline = Instant::now() + RETRY_FOR;
        loop {
            match self.attempt(txn).await {
                Err(Error::NotApplied(reason)) => self.pause(reason, deadline).await?,
                decided => return decided,
            }
        }
    }

    async fn attempt(&self, txn: &Txn) -> Result<Outcome, Error> {
        match self.raft.leader() {
            Leader::Here => {
                let proposing = self.proposals.propose(txn.clone());
                decided_in(start("raft.propose"), pin!(proposing)).await
            }
            Leader::Elsewhere(leader, peer) => {
                let _under_way = self.proposals.admit(txn)?;
                let asking = self.forwarder.ask(&peer.address, ForwardRequest::Txn(txn.clone()));
                let leads = || match self.raft.leader() {
                    Leader::Here => false,
                    Leader::Elsewhere(other, _) => other == leader,
                    // No other leader was elected.
                    Leader::Unknown => true,
                };
                let forwarding = async { forwarded(answered(asking, leads).await) };
                let span = start("raft.forward");
                let span = span.map(|span| span.of_client().with("server.address", &*peer.address));
                decided_in(span, pin!(forwarding)).await
            }
            Leader::Unknown => Err(NotApplied::NoLeader.into()),
        }
    }

    /// Waits a little if trying again may help and there is time; gives the reason back otherwise.
    async fn pause(&self, reason: NotApplied, deadline: Instant) -> Result<(), NotApplied> {
        if reason != NotApplied::NoLeader || Instant::now() + RETRY_PAUSE >= deadline {
            return Err(reason);
        }
        self.raft.leader_change(RETRY_PAUSE).await;
        Ok(())
    }

    /// See [`Store::status`].
    pub(super) fn status(&self) -> Status {
        let metrics = self.raft.openraft().metrics();
        let metrics = metrics.borrow_watched();
        let index = |id: &Option<LogId>| id.as_ref().map_or(0, |id| id.index);
        let committed = index(&metrics.cluster_committed).max(index(&metrics.local_committed));
        Status {
            node: self.raft.id(),
            leader: metrics.current_leader,
            term: metrics.current_term,
            applied: self.serving.revision(),
            lag: committed.saturating_sub(index(&metrics.last_applied)),
            oldest: self.serving.oldest(),
            size: self.serving.snapshot().size(),
            size_limit: self.proposals.limits().store_bytes,
        }
    }
}

#[async_trait]
impl Store for ReplicaStore {
    async fn read_index(&self) -> Result<Revision, Error> {
        self.read_index().await
    }

    fn snapshot(&self) -> Snapshot {
        self.serving.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.serving.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        in_span("raft.wait_applied", pin!(self.serving.applied(at))).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.transact(&txn).await
    }

    fn limits(&self) -> Limits {
        *self.proposals.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.serving.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.archive.as_ref().map(Archive::past)
    }

    fn status(&self) -> Status {
        self.status()
    }
}

/// Waits for the decision in a span, which tells when there is none.
async fn decided_in(
    span: Option<OpenSpan>,
    mut work: Pin<&mut impl Future<Output = Result<Outcome, Error>>>,
) -> Result<Outcome, Error> {
    let Some(mut span) = span else { return work.await };
    let decided = span.run(work.as_mut()).await;
    if let Err(error) = &decided {
        span.fail(kind_of(error));
    }
    decided
}

/// What became of a transaction that the leader was asked for.
fn forwarded(
    answered: Result<Result<ForwardResponse, ForwardError>, Impatience>,
) -> Result<Outcome, Error> {
    match answered {
        Ok(Ok(response)) => response.into_outcome(),
        Ok(Err(ForwardError::Unsent(_))) => Err(NotApplied::NoLeader.into()),
        Ok(Err(ForwardError::Full)) => Err(NotApplied::Overloaded.into()),
        Ok(Err(ForwardError::Sent(reason))) => Err(Error::Unknown(reason)),
        Err(Impatience::Silent) => {
            Err(Error::Unknown("the leader did not answer in time".to_owned()))
        }
        Err(Impatience::Deposed) => {
            Err(Error::Unknown("another leader was elected meanwhile".to_owned()))
        }
    }
}

/// An error as spans tell it.
pub(super) fn kind_of(error: &Error) -> &'static str {
    match error {
        Error::NotApplied(_) => "not applied",
        Error::Unknown(_) => "unknown",
    }
}

fn lagging() -> NotApplied {
    NotApplied::Unavailable("this node has not caught up with its leader".to_owned())
}
