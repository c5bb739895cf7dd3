//! Who asks. This slice knows client certificates and impersonation; tokens join as a further file.
//!
//! Invariant: a request either has a [`User`] or is refused with 401; there is no anonymous user.

mod certificate;
mod impersonation;
mod user;

pub use certificate::{Identity, from_certificate};
pub(crate) use impersonation::effective;
pub use user::User;
