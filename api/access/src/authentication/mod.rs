//! Authentication: client certificates, bearer tokens, authenticating proxies, and the headers of
//! user impersonation.
//!
//! Invariant: a request either has a [`User`] or is refused with 401 before anything else is looked
//! at. The anonymous user exists where the operator enables it only.

mod audit_user_cache;
mod certificate;
mod chain;
mod connection_identity;
mod extra;
mod impersonation;
mod proxy;
mod quorum_confirmation;
mod static_tokens;
pub mod token;
mod user;

pub use audit_user_cache::AuditUserCache;
pub use certificate::public_key;
pub use chain::{Authentication, AuthenticationOptions};
pub use connection_identity::ConnectionIdentity;
pub(crate) use impersonation::{ImpersonatedPart, requested_impersonation};
pub use proxy::ProxyOptions;
pub use quorum_confirmation::{QuorumConfirmation, StateRequirement};
pub use static_tokens::{StaticTokenError, StaticTokens};
pub use user::User;
