//! Store status: the store as one node sees it, for health checks, headers and operators.
//!
//! Invariant: a status is a copy taken at one moment; nothing in it is linearizable.

use serde::{Deserialize, Serialize};

use crate::Revision;

/// A node's id in its cluster, from 1.
pub type NodeId = u64;

/// The store of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// This node.
    pub node: NodeId,
    /// The leader, when one is known.
    pub leader: Option<NodeId>,
    /// The Raft term; 0 for a store without replication. It never goes back, and each change of the
    /// leader is a new leader or a new term, but two leaders may follow each other in one term:
    /// unique is the term together with the leader's node id.
    pub term: u64,
    /// Applied on this node.
    pub applied: Revision,
    /// Log entries that are committed as far as this node knows but not applied here yet.
    pub lag: u64,
    /// The oldest revision that can be read exactly.
    pub oldest: Revision,
    /// Bytes of keys and values now.
    pub size: u64,
    /// At this size nothing is added; 0 means no limit.
    pub size_limit: u64,
}
