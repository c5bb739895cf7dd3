//! The peer check: which callers are let in at the peer port, by what this node has applied.
//!
//! Invariant: a node that this one has not heard of yet is let in (it may have joined while this
//! one was down); a removed node is not, as soon as this one has applied its removal.

use std::sync::Arc;

use openraft::async_runtime::WatchReceiver;
use quorate_store::{NodeId, Serving};

use crate::cluster::ClusterId;
use crate::core::RaftNode;
use crate::keys;
use crate::network::call_auth::PeerPolicy;

/// Checks callers against the applied state and the newest members.
pub(crate) struct PeerCheck {
    raft: Arc<RaftNode>,
    serving: Serving,
}

impl PeerCheck {
    /// For this member.
    pub(crate) fn new(raft: Arc<RaftNode>, serving: Serving) -> Self {
        Self { raft, serving }
    }
}

impl PeerPolicy for PeerCheck {
    fn cluster(&self) -> ClusterId {
        self.raft.cluster()
    }

    fn successor(&self, old: ClusterId) -> Option<String> {
        let snapshot = self.serving.snapshot();
        String::from_utf8(snapshot.get(&keys::given_up(old))?.value.to_vec()).ok()
    }

    fn has_left(&self, node: NodeId) -> bool {
        let metrics = self.raft.openraft().metrics();
        let is_member = metrics.borrow_watched().membership_config.get_node(&node).is_some();
        !is_member && self.serving.snapshot().get(&keys::removed(node)).is_some()
    }
}
