//! A cluster in one process: real disks in a temporary folder, real TLS on loopback, certificates
//! made on the spot.
//!
//! Members listen on free ports and keep them when they are opened again. Shared by the tests and
//! the example that measures.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

pub(crate) mod far;
mod pki;
mod running;
mod slow;
mod wait;

pub(crate) use pki::{Authority, TestSigner};
pub(crate) use running::{Cluster, Tuning};
pub(crate) use wait::{eventually, within};
