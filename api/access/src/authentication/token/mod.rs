//! Service account tokens (TokenRequest and TokenReview): JSON web tokens that are bound to an
//! audience, a time and objects.
//!
//! A check has two halves. The claims of a token never change, so its signature is verified once
//! and cached for a while (`cache`). The objects that it is bound to do change, so they are looked
//! up in the store's newest state at every check (`bound_object`): no revocation has to be sent
//! when a service account or a bound object is deleted.

mod bound_object;
mod cache;
mod claims;
mod jws;
mod keys;
mod refusal;
mod service;
#[cfg(test)]
mod tests;
mod token_counts;

pub(super) use cache::{TokenHash, hash};
pub use claims::{BoundObjectReference, ObjectIdentity};
pub use jws::ALGORITHM;
pub use keys::{KeyMaterial, KeySet, UnusableKey};
pub use refusal::Refusal;
pub use service::{Accepted, Issue, Issued, ServiceAccountTokens, TokenOptions};
pub use token_counts::{TokenCounts, TokenUse};
