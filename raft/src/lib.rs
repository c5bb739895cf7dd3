//! The replicated store: Raft over mutual TLS, a segmented log with group commit, a state machine on disk with its serving
//! form in memory.
//!
//! This crate implements `quorate_store::Store` for one member of a cluster, and owns membership, snapshots and the peer
//! RPC. It knows nothing of HTTP, of resources, or of where certificates come from.

pub mod types;

mod cluster;

pub use cluster::{ClusterId, ParseClusterIdError};
