//! Tokens of service accounts: signed statements of who somebody is, for whom, until when, and as long as what exists
//! (document 000, TokenRequest and TokenReview).
//!
//! A check has two halves. What a token says never changes, so its signature is verified once and remembered for a while
//! (the file `cache`). What it depends on does change, so that is looked up in the store's newest state at every check
//! (the file `bound_object`): nothing has to be told that an account or a bound object is gone.

mod bound_object;
mod cache;
mod claims;
mod jws;
mod keys;
mod refusal;
mod service;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub(super) use cache::{TokenHash, hash};
pub use claims::{BoundObjectReference, ObjectIdentity};
pub use jws::ALGORITHM;
pub use keys::{KeyMaterial, KeySet, UnusableKey};
pub use refusal::Refusal;
pub use service::{Accepted, Issue, Issued, ServiceAccountTokens, TokenOptions};
