//! Administration over the peer RPC: status, membership, leadership, join tokens, joining.
//!
//! Invariants: every change is carried out by the leader, whichever node was asked; every request
//! needs a peer certificate but *join*, which needs a token instead. This module signs nothing: the
//! node's [`CertificateSigner`] does.

mod client;
mod join;
mod message;
mod service;
mod token;
mod tokens;

pub use client::AdminClient;
pub use join::{CertificateSigner, SigningRequest, join};
pub use message::{
    AdminAnswer, AdminRequest, ArchiveReport, JoinAnswer, JoinRequest, NodeStatus, TokenInfo,
};
pub(crate) use service::{AdminService, Envelope};
pub use token::{JoinToken, ParseTokenError};
