//! May this user do that? One [`Authorizer`] answers for requests, for reviews and for whatever else asks on behalf of a user.
//!
//! Invariant: decided from the user and the action alone, before anything is looked up, so that a refusal tells nothing
//! about what exists. Whatever else is configured, members of `system:masters` may do everything, and everybody who is known may
//! ask about themselves.

mod action;
mod authorizer;
mod decision;
mod escalation;
mod impersonation;
mod mode;
mod node;
pub mod rbac;
mod refusal;
#[cfg(test)]
mod tests;
mod webhook;

pub use action::{Action, Operator, Requirement, ResourceAction};
pub use action::{ActionKind, fields, labels};
pub use authorizer::{Authorizer, AuthorizerOptions};
pub use decision::{Decision, Rights, Verdict};
pub use mode::ModeOptions;
pub use node::service_account_of;
use refusal::refusal;
pub use webhook::{ReviewError, Reviewer, WebhookOptions};
