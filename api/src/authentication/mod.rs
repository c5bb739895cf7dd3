//! Who asks (document 000, "Authentication"): client certificates, bearer tokens, trusted proxies, impersonation.
//!
//! Invariant: a request either has a [`User`] or is refused with 401 before anything else is looked at. The anonymous user
//! exists for health endpoints only, where an operator wants it.

mod certificate;
mod chain;
mod extra;
mod freshness;
mod impersonation;
mod introduction;
mod proxy;
mod static_tokens;
pub mod token;
mod user;

pub use certificate::Identity;
pub use chain::{Authentication, AuthenticationOptions};
pub(crate) use freshness::{Confirmation, Freshness};
pub(crate) use impersonation::{ImpersonatedPart, asked};
pub(crate) use introduction::Introduction;
pub use proxy::ProxyOptions;
pub use static_tokens::{StaticTokenError, StaticTokens};
pub use user::User;
