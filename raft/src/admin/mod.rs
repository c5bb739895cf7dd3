//! Administration over the peer RPC: status, membership, leadership, join tokens, joining.
//!
//! Invariants: whatever changes something is carried out by the leader, wherever it was asked for; every request needs a
//! peer certificate but *join*, which needs a token instead. This module signs nothing: the node's [`CertificateSigner`] does.

mod client;
mod join;
mod message;
mod service;
mod token;
mod tokens;

pub use client::AdminClient;
pub use join::{CertificateSigner, SigningRequest, join};
pub use message::{AdminAnswer, AdminRequest, JoinAnswer, JoinRequest, NodeStatus, TokenInfo};
pub(crate) use service::{AdminService, Envelope};
pub use token::{JoinToken, ParseTokenError};
