//! How many connections the peer port has room for: a few for guests, and some for each node that has a certificate.
//!
//! Invariant: one node that goes wrong, or one leaked certificate, cannot take the room of the others. A place is free again when its
//! permit is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::identity::PeerIdentity;

/// Connections without a peer certificate: nodes that join.
const MAX_GUESTS: usize = 32;
/// Connections of one node. It needs one for each purpose, twice while they are made again, and some for its operator's commands.
const MAX_PER_NODE: usize = 64;

/// All places.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    guests: Arc<Semaphore>,
    /// Certificates that name no node share one entry, and get no further than the service's door.
    nodes: Mutex<HashMap<Option<PeerIdentity>, Arc<Semaphore>>>,
}

impl ConnectionLimits {
    /// All free.
    pub(super) fn new() -> Self {
        Self { guests: Arc::new(Semaphore::new(MAX_GUESTS)), nodes: Mutex::default() }
    }

    /// A place for somebody without a certificate, if there is one.
    pub(super) fn guest(&self) -> Option<OwnedSemaphorePermit> {
        self.guests.clone().try_acquire_owned().ok()
    }

    /// A place for a node, if there is one.
    pub(super) fn node(&self, identity: Option<PeerIdentity>) -> Option<OwnedSemaphorePermit> {
        let mut nodes = self.nodes.lock();
        let places = nodes.entry(identity).or_insert_with(|| Arc::new(Semaphore::new(MAX_PER_NODE)));
        places.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterId;

    #[test]
    fn each_node_has_its_own_places() {
        let limits = ConnectionLimits::new();
        let node = |node| Some(PeerIdentity { cluster: ClusterId::new([1; 16]), node });
        let taken: Vec<_> = (0..MAX_PER_NODE).map(|_| limits.node(node(1)).expect("a place")).collect();
        assert!(limits.node(node(1)).is_none());
        assert!(limits.node(node(2)).is_some() && limits.node(None).is_some() && limits.guest().is_some());
        drop(taken);
        assert!(limits.node(node(1)).is_some());
        let guests: Vec<_> = (0..MAX_GUESTS).map(|_| limits.guest().expect("a place")).collect();
        assert!(limits.guest().is_none() && limits.node(node(1)).is_some());
        drop(guests);
    }
}
