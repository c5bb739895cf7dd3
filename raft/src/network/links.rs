//! The links of one node to all its peers, by address and purpose.
//!
//! Invariant: what must be prompt (votes, heartbeats) never shares a connection with what may be
//! large (entries, snapshots, the past). Links are kept for the life of the node; their number is bounded by
//! the members it ever had.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::link::{Dialer, Link};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Votes, heartbeats, leader transfer, administration.
    Control,
    /// Log entries.
    Entries,
    /// Snapshots.
    Snapshot,
    /// Forwarded transactions and read indexes.
    Forward,
    /// The past, for a member that lacks a part of it.
    Archive,
}

/// All links.
#[derive(Debug)]
pub(crate) struct Links {
    dialer: Dialer,
    links: Mutex<HashMap<(String, Purpose), Arc<Link>>>,
}

impl Links {
    /// No links yet.
    pub(crate) fn new(dialer: Dialer) -> Self {
        Self { dialer, links: Mutex::default() }
    }

    /// The link to the peer at `host:port`.
    pub(crate) fn link(&self, address: &str, purpose: Purpose) -> Arc<Link> {
        let mut links = self.links.lock();
        let link = links.entry((address.to_owned(), purpose));
        link.or_insert_with(|| Arc::new(Link::new(self.dialer.clone(), address.to_owned()))).clone()
    }
}
