//! The network between members: connections, the peer RPC's stubs and messages, and openraft's view
//! of the network.
//!
//! Invariants: TLS 1.3 with certificates of the peer authority on every connection, and the cluster
//! id on every call; every connection goes through the network seam of `quorate_env`; every attempt
//! and every queue is bounded. This module decides nothing: votes, entries and snapshots are passed
//! to openraft as they come.

mod append;
mod append_answers;
mod commit_coalescing;

pub(crate) mod call_auth;
pub(crate) mod codec;
pub(crate) mod connection_limits;
pub(crate) mod connector;
mod heartbeats;
pub(crate) mod identity;
pub(crate) mod join_only;
pub(crate) mod link;
pub(crate) mod links;
pub(crate) mod listener;
pub(crate) mod protocol;
pub(crate) mod raft_client;
pub(crate) mod rollback_query;
pub(crate) mod snapshot;
pub(crate) mod stream;
pub(crate) mod wire;

pub(crate) mod tls;

pub use identity::{PEER_NAME, peer_names};
pub use tls::{Credentials, PeerTls, TlsError, authority_hash};

/// The stubs that `build.rs` generates.
#[expect(
    unused_qualifications,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::default_constructed_unit_structs,
    clippy::too_many_lines,
    reason = "generated code"
)]
pub(crate) mod rpc {
    tonic::include_proto!("quorate.peer.v1.Peer");
}
