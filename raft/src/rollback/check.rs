//! The rollback check at the start of a member: it asks the other voters how far it had been, and
//! takes part in the cluster when they have answered.
//!
//! Invariant: an answer is compared with how far the member is when the answer has come, so what
//! the member has shown in the meantime does not look like something forgotten. How a voter is
//! asked is the network's business ([`VoterQuery`]).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quorate_env::{Fatal, disk};
use quorate_store::NodeId;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::gate::StartGate;
use super::high_water::{HighWaterMark, HighWaterMarks};
use super::marker;
use crate::core::RaftNode;
use crate::types::{Peer, TypeConfig};

/// How long a start waits for voters that cannot be reached.
const START_LIMIT: Duration = Duration::from_secs(2);
/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two questions to a voter that does not answer.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Asks one voter for the high water mark that it has seen of this member.
pub(crate) trait VoterQuery: Send + Sync + 'static {
    /// One attempt; the caller bounds the wait.
    fn ask(
        &self,
        peer: &Peer,
    ) -> impl Future<Output = Result<Option<HighWaterMark>, NoAnswer>> + Send;
}

/// Why a voter gave no high water mark.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The voter remembers nothing, or knows no such question.
    Nothing,
    /// It cannot be reached.
    Unreachable,
}

/// The data folder that is checked, and the signal that ends the process when it is an older copy.
pub(crate) struct CheckedFolder {
    pub(crate) disk: Arc<dyn disk::Disk>,
    pub(crate) directory: PathBuf,
    pub(crate) fatal: Fatal,
}

/// The check of one start.
pub(crate) struct RollbackCheck<Q> {
    pub(crate) raft: Arc<RaftNode>,
    pub(crate) gate: Arc<StartGate>,
    pub(crate) folder: CheckedFolder,
    pub(crate) query: Q,
}

impl<Q: VoterQuery> RollbackCheck<Q> {
    /// Asks the voters and opens the gate, or says why this member must not take part. The task
    /// goes on asking the voters that have not answered.
    pub(crate) async fn run(self) -> Result<JoinHandle<()>, String> {
        let (raft, gate) = (self.raft.clone(), self.gate.clone());
        let mut asking = tokio::spawn(async move { self.ask_all().await });
        if timeout(START_LIMIT, &mut asking).await.is_err() {
            tracing::warn!(
                "not all voters can be asked whether this node's disk is an older copy; it takes part without that"
            );
        }
        if let Some(reason) = gate.refusal() {
            return Err(reason);
        }
        raft.openraft().runtime_config().elect(true);
        gate.open();
        Ok(asking)
    }

    /// Asks until every other voter has answered, or this member must stop.
    async fn ask_all(&self) {
        let Some((_, voters)) = own_mark(&self.raft).await else {
            return;
        };
        let mut questions: FuturesUnordered<_> =
            voters.iter().map(|(node, peer)| self.ask(*node, peer)).collect();
        while let Some(answered) = questions.next().await {
            if let Err(forgotten) = answered {
                return self.refuse(&forgotten).await;
            }
        }
    }

    /// Asks one voter until it answers or is a voter no more. The error says what this member's
    /// disk has forgotten.
    async fn ask(&self, node: NodeId, peer: &Peer) -> Result<(), String> {
        loop {
            let asked = timeout(ANSWER_TIMEOUT, self.query.ask(peer))
                .await
                .unwrap_or(Err(NoAnswer::Unreachable));
            let Some((own, voters)) = own_mark(&self.raft).await else {
                return Ok(());
            };
            match asked {
                Ok(Some(seen)) if own < seen => {
                    return Err(format!(
                        "this node had {seen} (says node {node}), and its disk has {own}"
                    ));
                }
                Ok(_) | Err(NoAnswer::Nothing) => return Ok(()),
                Err(NoAnswer::Unreachable) if !voters.iter().any(|(voter, _)| *voter == node) => {
                    return Ok(());
                }
                Err(NoAnswer::Unreachable) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    /// Marks the disk as an older copy and ends the process.
    async fn refuse(&self, forgotten: &str) {
        let advice = "remove this member, empty its data folder and let it join again";
        let reason = format!("{forgotten}: it is an older copy of that disk; {advice}");
        let CheckedFolder { disk, directory, fatal } = &self.folder;
        if let Err(error) = marker::write(&**disk, directory, &reason).await {
            tracing::warn!(%error, "a later start of this node does not know that its disk is an older copy");
        }
        self.gate.refuse(reason.clone());
        fatal.report(reason);
    }
}

/// The answer to another member that checks itself: what this member has seen of it.
pub(crate) async fn seen_of(
    raft: &RaftNode,
    marks: &HighWaterMarks,
    other: NodeId,
) -> Option<HighWaterMark> {
    let vote = raft.openraft().with_raft_state(|state| state.vote_ref().leader_id).await.ok();
    let elected = vote
        .filter(|leader| leader.node_id == other)
        .map(|leader| HighWaterMark { leader, last: None });
    marks.of(other).max(elected)
}

/// How far this member is, and the other voters; `None` once Raft has stopped.
async fn own_mark(raft: &RaftNode) -> Option<(HighWaterMark, Vec<(NodeId, Peer)>)> {
    let id = raft.id();
    let look = move |state: &openraft::RaftState<TypeConfig>| {
        let own = HighWaterMark {
            leader: state.vote_ref().leader_id,
            last: state.log_ids.last().copied(),
        };
        let members = state.membership_state.effective();
        let others = members.voter_ids().filter(|voter| *voter != id);
        let voters =
            others.filter_map(|voter| Some((voter, members.get_node(&voter)?.clone()))).collect();
        (own, voters)
    };
    raft.openraft().with_raft_state(look).await.ok()
}
