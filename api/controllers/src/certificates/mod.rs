//! The controllers of CertificateSigningRequests: approval and issuing for the well-known signers,
//! removal of old requests, and the trust bundle of the server's own authority.
//!
//! Invariant: requests of other signers are never changed, only removed when they are old. Reading
//! order: `signers` (what each signer issues), `issuer`, `sign`, `cleanup`, `trust_bundle`.

mod cleanup;
mod issuer;
mod sign;
mod signers;
mod trust_bundle;

pub(super) use cleanup::run as clean;
pub use issuer::{Issuer, NotIssued, Order, Signing};
pub(super) use sign::run as sign;
pub use signers::Usage;
pub(super) use trust_bundle::run as publish;
