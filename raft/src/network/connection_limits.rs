//! Connection limits of the peer port: a few connections without a peer certificate, and some for
//! each node that has one.
//!
//! Invariant: one node that goes wrong, or one leaked certificate, cannot use up the connections of
//! the others. A permit is free again when it is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::identity::PeerIdentity;

/// Connections without a peer certificate: nodes that join.
const MAX_UNAUTHENTICATED: usize = 32;
/// Connections of one node. It needs one for each purpose, twice while they are made again, and
/// some for its operator's commands.
const MAX_PER_NODE: usize = 64;

/// All permits.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    unauthenticated: Arc<Semaphore>,
    /// Certificates that name no node share one entry; the service refuses their calls.
    nodes: Mutex<HashMap<Option<PeerIdentity>, Arc<Semaphore>>>,
}

impl ConnectionLimits {
    /// All free.
    pub(super) fn new() -> Self {
        Self {
            unauthenticated: Arc::new(Semaphore::new(MAX_UNAUTHENTICATED)),
            nodes: Mutex::default(),
        }
    }

    /// A permit for a connection without a peer certificate, if one is free.
    pub(super) fn unauthenticated(&self) -> Option<OwnedSemaphorePermit> {
        self.unauthenticated.clone().try_acquire_owned().ok()
    }

    /// A permit for a connection of a node, if one is free.
    pub(super) fn node(&self, identity: Option<PeerIdentity>) -> Option<OwnedSemaphorePermit> {
        let mut nodes = self.nodes.lock();
        let permits =
            nodes.entry(identity).or_insert_with(|| Arc::new(Semaphore::new(MAX_PER_NODE)));
        permits.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterId;

    #[test]
    fn each_node_has_its_own_permits() {
        let limits = ConnectionLimits::new();
        let node = |node| Some(PeerIdentity { cluster: ClusterId::new([1; 16]), node });
        let taken: Vec<_> =
            (0..MAX_PER_NODE).map(|_| limits.node(node(1)).expect("a permit")).collect();
        assert!(limits.node(node(1)).is_none());
        assert!(
            limits.node(node(2)).is_some()
                && limits.node(None).is_some()
                && limits.unauthenticated().is_some()
        );
        drop(taken);
        assert!(limits.node(node(1)).is_some());
        let without: Vec<_> =
            (0..MAX_UNAUTHENTICATED).map(|_| limits.unauthenticated().expect("a permit")).collect();
        assert!(limits.unauthenticated().is_none() && limits.node(node(1)).is_some());
        drop(without);
    }
}
