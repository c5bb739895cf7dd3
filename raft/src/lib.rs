//! The replicated store: Raft over mutual TLS, a segmented log with group commit, a state machine
//! on disk with its serving form in memory.
//!
//! This crate implements `quorate_store::Store` for one member of a cluster, and owns membership,
//! snapshots and the peer RPC. The modules use each other in one direction: `types`, then `log` and
//! `state_machine`, then `core`, `rollback`, `network`, `membership`, `admin` and `recovery`, then
//! `replica`, which wires them. Not here: HTTP, resources, and where certificates come from.

pub mod log;
pub mod state_machine;
pub mod types;

pub mod admin;
pub mod recovery;
pub mod replica;

mod cluster;
mod core;
mod formats;
mod keys;
mod membership;
mod network;
mod rollback;

pub use cluster::{ClusterId, ParseClusterIdError};
pub use formats::{FORMATS, Format};
pub use membership::{AdminError, Member, Role};
pub use network::{Credentials, PEER_NAME, PeerTls, TlsError, authority_hash, peer_names};
pub use replica::Replica;
