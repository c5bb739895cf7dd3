//! The members as one node sees them.
//!
//! Invariant: only the leader knows how far the members are; elsewhere [`Member::lag`] is `None`.

use std::collections::BTreeMap;
use std::time::Duration;

use openraft::Instant;
use openraft::async_runtime::WatchReceiver;
use quorate_store::NodeId;
use serde::{Deserialize, Serialize};

use crate::core::RaftNode;

/// What a member is to the quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// It leads.
    Leader,
    /// It votes.
    Voter,
    /// It receives everything and does not vote.
    Learner,
}

/// One member of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its id.
    pub node: NodeId,
    /// `host:port` of its peer RPC.
    pub address: String,
    /// `host:port` of its API.
    pub api: String,
    /// What it is to the quorum.
    pub role: Role,
    /// Log entries of the leader that it has not confirmed; `None` where that is not known, and
    /// while it has confirmed nothing to this leader.
    pub lag: Option<u64>,
}

/// The members as this node knows them, by id.
pub(crate) fn members(raft: &RaftNode) -> Vec<Member> {
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let last = metrics.last_log_index.unwrap_or(0);
    let membership = metrics.membership_config.membership();
    let voters: Vec<NodeId> = membership.voter_ids().collect();
    let role = |node: NodeId| match voters.contains(&node) {
        _ if metrics.current_leader == Some(node) => Role::Leader,
        true => Role::Voter,
        false => Role::Learner,
    };
    let lag = |node: NodeId| {
        let matched = metrics.replication.as_ref()?.get(&node)?.as_ref()?;
        Some(last.saturating_sub(matched.index))
    };
    let member = |(node, peer): (&NodeId, &crate::types::Peer)| Member {
        node: *node,
        address: peer.address.clone(),
        api: peer.api.clone(),
        role: role(*node),
        lag: lag(*node),
    };
    let mut members: Vec<Member> = membership.nodes().map(member).collect();
    members.sort_by_key(|member| member.node);
    members
}

/// How long ago each other member answered the leader. Empty elsewhere; a member that has not
/// answered yet is missing.
pub(crate) fn last_contact(raft: &RaftNode) -> BTreeMap<NodeId, Duration> {
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let answers = metrics.heartbeat.iter().flatten();
    answers.filter_map(|(node, last)| Some((*node, last.as_ref()?.elapsed()))).collect()
}
