//! May this user do that? One [`Authorizer`] answers for requests, for reviews and for whatever else asks on behalf of a user.
//!
//! Invariant: decided from the user and the action alone, before anything is looked up, so that a refusal tells nothing
//! about what exists. Whatever else is configured, members of `system:masters` may do everything, and everybody who is known may
//! ask about themselves.

mod acting;
mod action;
mod authorizer;
mod decision;
mod escalation;
mod feed;
mod followed;
mod mode;
mod node;
pub(crate) mod rbac;
mod refusal;
#[cfg(test)]
mod tests;
mod webhook;

pub use action::{Action, Operator, Requirement, ResourceAction};
pub(crate) use action::{Stake, fields, labels};
pub use authorizer::{Authorizer, AuthorizerOptions};
pub use decision::{Decision, Rights, Verdict};
pub use feed::{Feed, FeedHandle, FeedOptions};
pub use mode::ModeOptions;
pub(crate) use node::account_of;
use refusal::refusal;
pub use webhook::{Reviewer, Unanswered, WebhookOptions};
