//! The replica handle: starting a cluster, waiting for it, transferring the leadership, stopping;
//! and the `Store` of a member.
//!
//! Invariant: dropping the handle without [`Replica::stop`] is a crash as far as the cluster is
//! concerned, and safe as such.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use openraft::errors::{InitializeError, RaftError};
use quorate_archive::{Archive, ArchiveStatus};
use quorate_store::{
    Error, HistoryError, Limits, NodeId, Outcome, Past, Revision, Snapshot, Status, Store, Txn,
    Watch,
};

use super::open::{self, Opened, ReplicaOpenError};
use super::options::ReplicaOptions;
use super::positions::Positions;
use crate::admin::{AdminAnswer, AdminRequest, Envelope};
use crate::core::Leader;
use crate::membership::{self, AdminError, Member};
use crate::types::Peer;

/// How long stopping waits for Raft to end its tasks.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a change of the leadership may stay unnoticed by a caller that checked just before it.
const LEADERSHIP_POLL: Duration = Duration::from_secs(1);

/// How long stopping waits for the decision of what was proposed here.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it checks.
const DRAIN_POLL: Duration = Duration::from_millis(5);
/// How long a former leader goes on answering that it is none: requests that were sent before must
/// not get lost.
const STEP_DOWN_GRACE: Duration = Duration::from_millis(100);

/// One member of a cluster. Clones share it.
#[derive(Clone)]
pub struct Replica {
    opened: Arc<Opened>,
}

/// What became of a [`Replica::stop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReport {
    /// The member that took the leadership over, if this one had it and another took it.
    pub successor: Option<NodeId>,
}

impl Replica {
    /// Opens a member and begins to answer its peers. A new one then waits to be initialized or to
    /// be found by a leader.
    pub async fn open(options: ReplicaOptions) -> Result<Self, ReplicaOpenError> {
        let opened = Box::pin(open::open(options)).await?;
        Ok(Self { opened: Arc::new(opened) })
    }

    /// Where peers reach this member, with the real port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.opened.address
    }

    /// Founds the cluster with these voters. Called on one of them; the others only need to be
    /// open. Does nothing on a member that has been in a cluster already.
    pub async fn initialize(&self, members: BTreeMap<NodeId, Peer>) -> Result<(), AdminError> {
        match self.opened.raft.openraft().initialize(members).await {
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(()),
            Err(error) => Err(AdminError::Refused(error.to_string())),
        }
    }

    /// Whether this member has been in a cluster, now or before a restart.
    pub async fn is_initialized(&self) -> bool {
        self.opened.raft.openraft().is_initialized().await.unwrap_or(false)
    }

    /// Returns once what this member serves is at least as new as what it served before it was
    /// restarted. To be awaited before clients are let in; waits for a quorum.
    pub async fn recovered(&self) {
        while self
            .opened
            .raft
            .openraft()
            .wait_for_recovery(Some(Duration::from_secs(60)))
            .await
            .is_err()
        {}
    }

    /// Whether this member leads.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.opened.raft.leader() == Leader::Here
    }

    /// The leader's id and addresses, when it is another member.
    #[must_use]
    pub fn leader(&self) -> Option<(NodeId, Peer)> {
        match self.opened.raft.leader() {
            Leader::Elsewhere(node, peer) => Some((node, peer)),
            Leader::Here | Leader::Unknown => None,
        }
    }

    /// Waits until the leader may have changed; a second at most, so callers check again.
    pub async fn leadership_changed(&self) {
        self.opened.raft.leader_change(LEADERSHIP_POLL).await;
    }

    /// The members as this one sees them.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        membership::members(&self.opened.raft)
    }

    /// How long ago each other member answered this one, which leads; a member that has not
    /// answered yet is missing. Empty elsewhere.
    #[must_use]
    pub fn heard(&self) -> BTreeMap<NodeId, Duration> {
        membership::last_contact(&self.opened.raft)
    }

    /// How far this member is, in Raft's own terms.
    #[must_use]
    pub fn positions(&self) -> Positions {
        Positions::of(&self.opened.raft, &self.opened.installs)
    }

    /// How this member's archive is, where it keeps one. Never waits.
    #[must_use]
    pub fn archive(&self) -> Option<ArchiveStatus> {
        self.opened.store.archive.as_ref().map(Archive::status)
    }

    /// What a command line would ask over the network.
    pub async fn ask(&self, request: AdminRequest) -> Result<AdminAnswer, AdminError> {
        Box::pin(self.opened.admin.answer(Envelope { hops: 0, request })).await
    }

    /// Waits until this member cannot go on (its disk has failed, or Raft has stopped) and says
    /// why. The process must end then.
    pub async fn failed(&self) -> String {
        tokio::select! {
            biased;
            reason = self.opened.fatal.wait() => reason,
            reason = self.opened.raft.stopped() => reason,
        }
    }

    /// Transfers the leadership if this member has it, while it goes on serving. Returns the new
    /// leader.
    pub async fn step_down(&self) -> Option<NodeId> {
        if !self.is_leader() {
            return None;
        }
        match membership::transfer_leadership(&self.opened.raft, None).await {
            Ok(leader) => Some(leader),
            Err(reason) => {
                tracing::info!(%reason, "stopping as the leader");
                None
            }
        }
    }

    /// Transfers the leadership and stops. Waiting reads and transactions end with an error;
    /// everything acknowledged is durable already. The member can be opened again once every clone
    /// of this handle is gone.
    pub async fn stop(&self) -> StopReport {
        let successor = self.step_down().await;
        if successor.is_some() {
            tokio::time::timeout(DRAIN_TIMEOUT, self.drained()).await.ok();
        }
        self.halt().await;
        StopReport { successor }
    }

    /// Waits until what was proposed here is decided (the new leader commits it) and the clients
    /// are answered.
    async fn drained(&self) {
        while !self.opened.store.proposals.is_idle() {
            tokio::time::sleep(DRAIN_POLL).await;
        }
        tokio::time::sleep(STEP_DOWN_GRACE).await;
    }

    /// Stops at once, the leadership notwithstanding: the others elect a new leader when they miss
    /// this one.
    pub async fn halt(&self) {
        self.opened.raft.mark_stopping();
        self.opened.background.end();
        let stopping =
            tokio::time::timeout(SHUTDOWN_TIMEOUT, self.opened.raft.openraft().shutdown()).await;
        if stopping.is_err() {
            tracing::warn!("Raft has not ended its tasks in time");
        }
        if let Err(error) = self.opened.log.close().await {
            tracing::warn!(%error, "the log could not be closed");
        }
        if let Some(archive) = &self.opened.store.archive {
            archive.close().await;
        }
    }
}

#[async_trait]
impl Store for Replica {
    async fn read_index(&self) -> Result<Revision, Error> {
        self.opened.store.read_index().await
    }

    fn snapshot(&self) -> Snapshot {
        self.opened.store.serving.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.opened.store.serving.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.opened.store.serving.applied(at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.opened.store.transact(&txn).await
    }

    fn limits(&self) -> Limits {
        *self.opened.store.proposals.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.opened.store.serving.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.opened.store.past()
    }

    fn status(&self) -> Status {
        self.opened.store.status()
    }
}
