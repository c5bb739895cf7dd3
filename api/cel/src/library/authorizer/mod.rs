//! Authorization checks: `authorizer.group('').resource('pods').check('get').allowed()` and the like.
//!
//! Not here: how a check is decided (an [`Authorizer`] of the embedding server).

mod answers;
mod check;
mod overloads;
mod values;

#[cfg(test)]
mod tests;

pub use answers::{Answers, Authorizer, Undecided};
pub use check::{Check, CheckTarget, Decision, ResourceTarget, Subject};
pub(super) use overloads::overloads;
pub use values::{authorizer, authorizer_type, request_resource, request_resource_type};
