//! Who is let in at the peer port, from what this node has applied.
//!
//! Invariant: a node that this one has not heard of yet is let in (it may have joined while this one was down); one that was
//! removed is not, as soon as this one knows.

use openraft::async_runtime::WatchReceiver;
use quorate_store::NodeId;

use crate::network::call_auth::PeerPolicy;
use crate::replica::core::Core;
use crate::{ClusterId, keys};

impl PeerPolicy for Core {
    fn cluster(&self) -> ClusterId {
        self.cluster
    }

    fn successor(&self, old: ClusterId) -> Option<String> {
        let snapshot = self.serving.snapshot();
        String::from_utf8(snapshot.get(&keys::given_up(old))?.value.to_vec()).ok()
    }

    fn has_left(&self, node: NodeId) -> bool {
        let metrics = self.raft.metrics();
        let is_member = metrics.borrow_watched().membership_config.get_node(&node).is_some();
        !is_member && self.serving.snapshot().get(&keys::removed(node)).is_some()
    }
}
