//! Membership changes, on the leader.
//!
//! Invariants: each function runs on the leader and fails with [`AdminError::Unavailable`]
//! elsewhere; rules are checked before anything is proposed, and a proposal is conditional on
//! exactly the members that it was checked with; a leader that was removed changes nothing any
//! more, though it still leads for a moment; no change begins while one is half done; a change is
//! done when Raft has committed it (the joint and the final configuration: Raft dissertation,
//! section 4.3).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::async_runtime::WatchReceiver;
use openraft::errors::{ClientWriteError, PreconditionFailed, RaftError};
use openraft::{ChangeMembers, Precondition};
use quorate_store::{NodeId, Store};
use tokio::time::{Instant, timeout};

use super::members::members;
use super::node_ids::retire;
use super::{AdminError, Member, Role};
use crate::core::{Leader, RaftNode};
use crate::types::{LogId, Peer, StoredMembership, TypeConfig};

/// A learner with at most this many entries to go is caught up: it confirms them while its
/// promotion commits.
const PROMOTION_LAG: u64 = 1000;
/// How long promoting waits for the learner to catch up.
const PROMOTION_WAIT: Duration = Duration::from_secs(10);
/// How long a change may take.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a transfer of the leadership may take; longer than an election.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a wait checks again when openraft reports nothing.
const POLL: Duration = Duration::from_millis(50);

type Changes = ChangeMembers<NodeId, Peer>;

/// The entry of the log that made the members what they are.
type Basis = Option<LogId>;

/// Adds a learner; it need not run yet.
pub(crate) async fn add_learner(
    raft: &RaftNode,
    node: NodeId,
    peer: Peer,
) -> Result<(), AdminError> {
    let basis = basis(raft)?;
    let members = members(raft);
    if let Some(other) =
        members.iter().find(|member| member.address == peer.address && member.node != node)
    {
        return Err(AdminError::refused(format!(
            "{} is the address of member {} already",
            peer.address, other.node
        )));
    }
    if members.iter().any(|member| member.node == node && member.address == peer.address) {
        return Ok(());
    }
    change(raft, basis, Changes::AddNodes(BTreeMap::from([(node, peer)]))).await
}

/// Makes a learner a voter, once it is caught up.
pub(crate) async fn promote(raft: &RaftNode, node: NodeId) -> Result<(), AdminError> {
    let deadline = Instant::now() + PROMOTION_WAIT;
    let basis = loop {
        let basis = basis(raft)?;
        let member = member(raft, node)?;
        match member.lag {
            _ if member.role != Role::Learner => return Ok(()),
            Some(lag) if lag <= PROMOTION_LAG => break basis,
            // However short the log is: the learner may be gone, and an empty voter preserves
            // nothing when the others are lost.
            None if Instant::now() >= deadline => {
                return Err(AdminError::unavailable(format!(
                    "member {node} has not answered this leader yet"
                )));
            }
            Some(lag) if Instant::now() >= deadline => {
                return Err(AdminError::unavailable(format!(
                    "member {node} is {lag} log entries behind"
                )));
            }
            _ => raft.metrics_change(POLL).await,
        }
    };
    change(raft, basis, Changes::AddVoterIds(BTreeSet::from([node]))).await
}

/// Removes a member. If it leads, it steps down when that is committed.
pub(crate) async fn remove(
    raft: &RaftNode,
    store: &dyn Store,
    node: NodeId,
) -> Result<(), AdminError> {
    let basis = basis(raft)?;
    let member = member(raft, node)?;
    if member.role == Role::Learner {
        retire(raft, store, node).await?;
        return change(raft, basis, Changes::RemoveNodes(BTreeSet::from([node]))).await;
    }
    if members(raft).iter().filter(|member| member.role != Role::Learner).count() == 1 {
        return Err(AdminError::LastVoter(node));
    }
    retire(raft, store, node).await?;
    change(raft, basis, Changes::RemoveVoters(BTreeSet::from([node]))).await
}

/// Transfers the leadership to a voter: the given one, or the one with the longest log. Returns the
/// new leader.
pub(crate) async fn transfer_leadership(
    raft: &RaftNode,
    to: Option<NodeId>,
) -> Result<NodeId, AdminError> {
    require_leader(raft)?;
    let to = match to {
        Some(node) if node == raft.id() => return Ok(node),
        Some(node) if member(raft, node)?.role == Role::Voter => node,
        Some(node) => return Err(AdminError::refused(format!("member {node} is a learner"))),
        None => successor(raft).ok_or_else(|| AdminError::refused("there is no other voter"))?,
    };
    let triggered = raft.openraft().trigger().transfer_leader(to).await;
    triggered.map_err(|error| AdminError::unavailable(error.to_string()))?;
    let led_by_another = async {
        loop {
            if let Leader::Elsewhere(leader, _) = raft.leader() {
                return leader;
            }
            raft.metrics_change(POLL).await;
        }
    };
    let unknown =
        || AdminError::Unknown(format!("member {to} has not taken the leadership over in time"));
    timeout(TRANSFER_TIMEOUT, led_by_another).await.map_err(|_| unknown())
}

/// The voter, other than this node, that has confirmed most.
fn successor(raft: &RaftNode) -> Option<NodeId> {
    let voters = members(raft)
        .into_iter()
        .filter(|member| member.role == Role::Voter && member.node != raft.id());
    voters.min_by_key(|member| member.lag.unwrap_or(u64::MAX)).map(|member| member.node)
}

fn require_leader(raft: &RaftNode) -> Result<(), AdminError> {
    match raft.leader() {
        Leader::Here => Ok(()),
        Leader::Elsewhere(..) | Leader::Unknown => {
            Err(AdminError::unavailable("this node does not lead"))
        }
    }
}

/// The basis of a change, if this node may make one. openraft lets a removed leader propose, and
/// does not expect it to; and it accepts a change on top of a half-done one, after which a leader
/// that is being removed would be removed already.
fn basis(raft: &RaftNode) -> Result<Basis, AdminError> {
    require_leader(raft)?;
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let members = &metrics.membership_config;
    match members.get_node(&raft.id()) {
        Some(_) if is_joint(members) => {
            Err(AdminError::unavailable("a change of the voters is under way"))
        }
        Some(_) => Ok(*members.log_id()),
        None => Err(AdminError::unavailable("this node was removed and is handing over")),
    }
}

fn member(raft: &RaftNode, node: NodeId) -> Result<Member, AdminError> {
    let member = members(raft).into_iter().find(|member| member.node == node);
    member.ok_or_else(|| AdminError::refused(format!("there is no member {node}")))
}

pub(super) async fn change(
    raft: &RaftNode,
    basis: Basis,
    changes: Changes,
) -> Result<(), AdminError> {
    let as_checked = Precondition::LastMembershipLogId { last_membership_log_id: basis };
    match timeout(
        CHANGE_TIMEOUT,
        raft.openraft().change_membership_if(changes, false, [as_checked]),
    )
    .await
    {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(refused(error, basis)),
        Err(_) => Err(AdminError::Unknown("no quorum confirmed the change in time".to_owned())),
    }
}

/// Whether the old voters and the new ones both count.
pub(super) fn is_joint(members: &StoredMembership) -> bool {
    members.get_joint_config().len() > 1
}

fn refused(error: RaftError<TypeConfig, ClientWriteError<TypeConfig>>, basis: Basis) -> AdminError {
    match error {
        // The second half of a change has a condition of its own.
        RaftError::APIError(ClientWriteError::PreconditionFailed(
            PreconditionFailed::LastMembershipLogIdMismatch { expected, .. },
        )) if expected == basis => AdminError::unavailable("the members are just changing"),
        RaftError::APIError(ClientWriteError::ForwardToLeader(_)) => {
            AdminError::unavailable("the leader changed")
        }
        RaftError::APIError(ClientWriteError::ChangeMembershipError(error)) => {
            AdminError::unavailable(error.to_string())
        }
        RaftError::APIError(error) => AdminError::Unknown(error.to_string()),
        RaftError::Fatal(error) => AdminError::Unknown(error.to_string()),
    }
}
