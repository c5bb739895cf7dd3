//! Keys and certificates: the authorities of a cluster, what they issue, and how a running node
//! reloads it.
//!
//! Two authorities from the start, so that a client certificate is never a peer's and the other way
//! round:
//!
//! - `ca` signs what clients see: each node's serving certificate and the client certificates of
//!   users;
//! - `peer-ca` signs what nodes show each other. Nothing else is accepted on the peer port.
//!
//! A third one, `signer-ca`, is made by the running cluster and issues what is asked for through
//! the API; its clients are trusted like those of `ca`; no node trusts its servers.
//!
//! The authorities' keys live in the replicated store, sealed with the cluster secret ([`sealed`]),
//! so that every node can issue. Certificates are made with rcgen; nothing here parses X.509 by
//! hand.

mod authority;
mod identity;
pub(crate) mod issue;
pub(crate) mod leaf;
pub(crate) mod names;
mod platform;
pub(crate) mod sealed;
mod tls;
mod validity;

pub(crate) use authority::{Authority, Subject};
pub(crate) use identity::{Identity, certificates};
pub(crate) use platform::platform_roots;
pub(crate) use tls::{client_config, peer_credentials, server_files};
pub(crate) use validity::{CertificateFile, Validity};
