//! What every part of a replica shares: Raft, the state machine's serving form, the links to the peers, the seams.
//!
//! Invariant: nothing here changes after the start but what the parts guard themselves. It answers *who leads* and *how far has this
//! node applied*; what to do about it is decided elsewhere.

use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use openraft::ReadPolicy;
use openraft::async_runtime::WatchReceiver;
use openraft::errors::{LinearizableReadError, RaftError};
use quorate_env::Env;
use quorate_store::{NodeId, NotApplied, Serving};

use super::forward::Forwarder;
use super::forward::message::ForwardRequest;
use super::forward::session::ForwardError;
use super::proposal_batches::ProposalBatches;
use super::proposals::Proposals;
use super::read_index::{ReadIndex, ReadPoint};
use super::task_seeds::TaskSeeds;
use crate::ClusterId;
use crate::network::links::Links;
use crate::rollback::{Gate, HighWater};
use crate::state_machine::StateMachine;
use crate::types::{Peer, TypeConfig};

/// openraft with our types.
pub(crate) type Raft = openraft::Raft<TypeConfig, StateMachine>;

/// How long one read-index round may take. ReadIndex are retried, so this only bounds how long a lost leader is waited for.
const ROUND_TIMEOUT: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Core {
    pub(crate) node: NodeId,
    pub(crate) cluster: ClusterId,
    pub(crate) env: Env,
    pub(crate) raft: Raft,
    pub(crate) serving: Serving,
    pub(crate) links: Arc<Links>,
    pub(crate) forwarder: Forwarder,
    pub(crate) proposals: Proposals,
    pub(crate) groups: ProposalBatches,
    pub(crate) rounds: ReadIndex,
    /// Set before Raft is told to stop.
    pub(crate) stopping: AtomicBool,
    pub(crate) installs: Installs,
    pub(crate) seeds: Arc<TaskSeeds>,
    pub(crate) witness: Arc<HighWater>,
    pub(crate) gate: Gate,
}

/// Snapshots that other members send: how many have begun to come in since the start, and how many of them are over.
#[derive(Debug, Default)]
pub(crate) struct Installs {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A snapshot that is coming in or being installed.
pub(crate) struct Installing<'a>(&'a Installs);

impl Installs {
    /// One begins; it is over when the guard goes.
    pub(crate) fn begin(&self) -> Installing<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Installing(self)
    }

    /// How many have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether one is under way.
    pub(crate) fn under_way(&self) -> bool {
        self.ended.load(Ordering::Relaxed) < self.begun()
    }
}

impl Drop for Installing<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Who leads, as far as this node knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leader {
    /// This node.
    Here,
    /// Another member.
    Elsewhere(NodeId, Peer),
    /// Nobody, or nobody known.
    Unknown,
}

impl Core {
    /// Who leads now.
    pub(crate) fn leader(&self) -> Leader {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        match metrics.current_leader {
            Some(leader) if leader == self.node && metrics.state.is_leader() => Leader::Here,
            Some(leader) if leader != self.node => match metrics.membership_config.get_node(&leader) {
                Some(peer) => Leader::Elsewhere(leader, peer.clone()),
                None => Leader::Unknown,
            },
            _ => Leader::Unknown,
        }
    }

    /// Waits until who leads may have changed since this call, but no longer than this.
    pub(crate) async fn leader_change(&self, longest: Duration) {
        let mut metrics = self.raft.server_metrics();
        // openraft's own receiver, of which this is a copy, has never seen anything: it would call every value new.
        drop(metrics.borrow_and_update());
        let changed = async {
            // Once Raft has stopped nothing changes any more; callers who look again and again must not spin.
            if metrics.changed().await.is_err() {
                future::pending::<()>().await;
            }
        };
        tokio::time::timeout(longest, changed).await.ok();
    }

    /// One read-index round: a quorum confirms the leader, here or there, and it names the index to have applied.
    pub(crate) async fn read_round(&self) -> ReadPoint {
        let round = async {
            match self.leader() {
                Leader::Here => self.local_read_round().await,
                Leader::Elsewhere(_, peer) => {
                    match self.forwarder.ask(&peer.address, ForwardRequest::ReadIndex).await {
                        Ok(answer) => answer.into_read_point(),
                        Err(ForwardError::Full) => Err(NotApplied::Overloaded),
                        Err(ForwardError::Sent(_) | ForwardError::Unsent(_)) => Err(NotApplied::NoLeader),
                    }
                }
                Leader::Unknown => Err(NotApplied::NoLeader),
            }
        };
        tokio::time::timeout(ROUND_TIMEOUT, round).await.unwrap_or(Err(NotApplied::NoLeader))
    }

    async fn local_read_round(&self) -> ReadPoint {
        match self.raft.get_read_log_id(ReadPolicy::ReadIndex).await {
            Ok((read_log_id, _)) => Ok(read_log_id.index()),
            Err(RaftError::APIError(
                LinearizableReadError::ForwardToLeader(_) | LinearizableReadError::QuorumNotEnough(_),
            )) => Err(NotApplied::NoLeader),
            Err(RaftError::Fatal(error)) => Err(NotApplied::Unavailable(error.to_string())),
        }
    }

    /// Bytes of keys and values.
    pub(crate) fn size(&self) -> u64 {
        self.serving.snapshot().size()
    }

    /// Up to where the log is gone, and where it ends; 0 for none.
    pub(crate) fn log_span(&self) -> (u64, u64) {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        (metrics.purged.as_ref().map_or(0, |id| id.index), metrics.last_log_index.unwrap_or(0))
    }

    /// Whether Raft takes nothing any more: whatever is asked of it from now on surely has no effect.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.raft.metrics().borrow_watched().running_state.is_err()
    }

    /// Waits until Raft has stopped by itself and says why.
    pub(crate) async fn stopped(&self) -> String {
        // What Raft reports of its members changes rarely, and ends with Raft; all that it reports changes with every message.
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

    /// Waits until this node has applied the log up to this index.
    pub(crate) async fn applied_index(&self, index: u64) -> Result<(), NotApplied> {
        let mut progress = self.raft.watch_apply_progress();
        let reached = progress.wait_until(|applied| applied.as_ref().is_some_and(|id| id.index >= index)).await;
        reached.map(drop).map_err(|_| NotApplied::Unavailable("the node is stopping".to_owned()))
    }
}
