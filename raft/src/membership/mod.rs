//! Cluster membership: the members, and changing them one at a time by the leader, through Raft's
//! own log.
//!
//! Invariants: a learner becomes a voter only when it has nearly everything; the last voter cannot
//! be removed; a node id is never given twice. Everything here is a function over the
//! [`RaftNode`](crate::core::RaftNode), and over a `quorate_store::Store` where keys are read or
//! written. Not here: who may ask for a change (`admin`).

mod change;
mod complete;
mod error;
mod members;
mod node_ids;
mod peer_check;

pub use error::AdminError;
pub use members::{Member, Role};

pub(crate) use change::{add_learner, promote, remove, transfer_leadership};
pub(crate) use complete::{complete_changes, is_changing_voters};
pub(crate) use members::{last_contact, members};
pub(crate) use node_ids::next_node_id;
pub(crate) use peer_check::PeerCheck;
