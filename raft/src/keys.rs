//! Keys of the replicated store that belong to replication itself, under `s/` (owned by the system,
//! never an API object).
//!
//! - `s/members/last`: the largest node id given out, in decimal digits.
//! - `s/members/removed/NUMBER`: this member was removed; its certificate is still valid, and
//!   refused.
//! - `s/given-up/CLUSTER`: the id of the cluster that took the place of this one after it had lost
//!   its quorum (`recovery`).
//! - `s/tokens/ID`: a join token (`admin::tokens`).

use quorate_store::NodeId;

use crate::cluster::ClusterId;

/// The largest node id given out.
pub(crate) const LAST_NODE: &[u8] = b"s/members/last";
/// What comes before all that is about members.
pub(crate) const MEMBERS: &[u8] = b"s/members/";
/// What comes before a token's id.
pub(crate) const TOKENS: &[u8] = b"s/tokens/";

/// Where it stands that a member was removed.
pub(crate) fn removed(node: NodeId) -> Vec<u8> {
    format!("s/members/removed/{node}").into_bytes()
}

/// Where it stands by which cluster another one was replaced.
pub(crate) fn given_up(old: ClusterId) -> Vec<u8> {
    format!("s/given-up/{old}").into_bytes()
}
