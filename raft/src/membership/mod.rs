//! Who belongs to the cluster, and how that changes: one member at a time, by the leader, through Raft's own log.
//!
//! Invariants: a learner becomes a voter only when it has nearly everything; the last voter cannot be removed; a node number
//! is never given twice. This module does not decide who may ask; `admin` does.

mod change;
mod complete;
mod error;
mod members;
mod node_ids;
mod peer_check;

pub use error::AdminError;
pub use members::{Member, Role};
