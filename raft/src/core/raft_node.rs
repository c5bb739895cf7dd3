//! [`RaftNode`]: which member leads, and how far this node has applied the log.
//!
//! Invariant: nothing here changes after the start but the mark that the node is stopping. What
//! follows from an answer is decided by the caller.

use std::future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use openraft::async_runtime::{Watch, WatchReceiver};
use openraft::errors::{LinearizableReadError, RaftError};
use openraft::{OptionalSend, OptionalSync, ReadPolicy};
use quorate_store::{NodeId, NotApplied};
use tokio::time::timeout;

use crate::cluster::ClusterId;
use crate::state_machine::StateMachine;
use crate::types::{Peer, TypeConfig};

/// openraft with our types.
pub(crate) type Raft = openraft::Raft<TypeConfig, StateMachine>;

/// The leader, as far as this node knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leader {
    /// This node.
    Here,
    /// Another member.
    Elsewhere(NodeId, Peer),
    /// There is no leader, or this node knows of none.
    Unknown,
}

/// One member's openraft instance.
pub(crate) struct RaftNode {
    id: NodeId,
    cluster: ClusterId,
    raft: Raft,
    /// Set before openraft is shut down.
    stopping: AtomicBool,
}

impl RaftNode {
    /// A running instance.
    pub(crate) fn new(id: NodeId, cluster: ClusterId, raft: Raft) -> Self {
        Self { id, cluster, raft, stopping: AtomicBool::new(false) }
    }

    /// This node's id.
    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    /// The cluster that it belongs to.
    pub(crate) fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// The openraft instance.
    pub(crate) fn openraft(&self) -> &Raft {
        &self.raft
    }

    /// The leader now.
    pub(crate) fn leader(&self) -> Leader {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        match metrics.current_leader {
            Some(leader) if leader == self.id && metrics.state.is_leader() => Leader::Here,
            Some(leader) if leader != self.id => {
                match metrics.membership_config.get_node(&leader) {
                    Some(peer) => Leader::Elsewhere(leader, peer.clone()),
                    None => Leader::Unknown,
                }
            }
            _ => Leader::Unknown,
        }
    }

    /// Waits until the leader may have changed since this call, for `longest` at most.
    pub(crate) async fn leader_change(&self, longest: Duration) {
        change(self.raft.server_metrics(), longest).await;
    }

    /// Waits until anything that openraft reports has changed since this call, for `longest` at
    /// most.
    pub(crate) async fn metrics_change(&self, longest: Duration) {
        change(self.raft.metrics(), longest).await;
    }

    /// The ReadIndex of the leader (Raft dissertation, section 6.4): the log index that a state
    /// must have applied to be current, after a quorum has confirmed that this node leads.
    pub(crate) async fn confirmed_read_index(&self) -> Result<u64, NotApplied> {
        match self.raft.get_read_log_id(ReadPolicy::ReadIndex).await {
            Ok((read_log_id, _)) => Ok(read_log_id.index()),
            Err(RaftError::APIError(
                LinearizableReadError::ForwardToLeader(_)
                | LinearizableReadError::QuorumNotEnough(_),
            )) => Err(NotApplied::NoLeader),
            Err(RaftError::Fatal(error)) => Err(NotApplied::Unavailable(error.to_string())),
        }
    }

    /// Waits until this node has applied the log up to this index.
    pub(crate) async fn applied_index(&self, index: u64) -> Result<(), NotApplied> {
        let mut progress = self.raft.watch_apply_progress();
        let reached = progress
            .wait_until(|applied| applied.as_ref().is_some_and(|id| id.index >= index))
            .await;
        reached.map(drop).map_err(|_| NotApplied::Unavailable("the node is stopping".to_owned()))
    }

    /// The last purged log index and the last one there is; 0 for none.
    pub(crate) fn log_span(&self) -> (u64, u64) {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        (metrics.purged.as_ref().map_or(0, |id| id.index), metrics.last_log_index.unwrap_or(0))
    }

    /// Marks the node as stopping: from now on nothing is proposed.
    pub(crate) fn mark_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether Raft accepts nothing any more: a request to it from now on surely has no effect.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
            || self.raft.metrics().borrow_watched().running_state.is_err()
    }

    /// Waits until Raft has stopped by itself and gives the reason.
    pub(crate) async fn stopped(&self) -> String {
        // The server metrics change rarely and end with Raft; the full metrics change with every
        // message.
        let mut ending = self.raft.server_metrics();
        loop {
            let ended = ending.changed().await.is_err();
            if let Err(error) = &self.raft.metrics().borrow_watched().running_state {
                return error.to_string();
            }
            if ended {
                return "Raft has stopped".to_owned();
            }
        }
    }
}

/// Waits until the value has changed since this call, for `longest` at most.
async fn change<W, T>(mut value: impl WatchReceiver<W, T>, longest: Duration)
where
    W: Watch,
    T: OptionalSend + OptionalSync,
{
    // openraft's own receiver, of which this is a copy, has never seen anything: it would call
    // every value new.
    drop(value.borrow_and_update());
    let changed = async {
        // Once Raft has stopped nothing changes any more; callers that ask in a loop must not spin.
        if value.changed().await.is_err() {
            future::pending::<()>().await;
        }
    };
    timeout(longest, changed).await.ok();
}
