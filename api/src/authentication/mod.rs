//! Who asks. This slice knows client certificates; tokens and impersonation join as further files.
//!
//! Invariant: a request either has a [`User`] or is refused with 401; there is no anonymous user.

mod certificate;
mod user;

pub use certificate::{Identity, from_certificate};
pub use user::User;
