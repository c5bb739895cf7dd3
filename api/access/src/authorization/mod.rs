//! Authorization: whether a user may do something. One [`Authorizer`] decides about requests,
//! access reviews and writes alike.
//!
//! Invariants: a decision depends on the user and the action alone and is made before any object is
//! looked up, so that a refusal tells nothing about which objects exist. Whatever modes are
//! configured, members of `system:masters` may do everything, and every authenticated user may ask
//! about themselves.

mod action;
mod authorizer;
mod decision;
mod decision_counts;
mod escalation;
mod impersonation;
mod mode;
mod node;
pub mod rbac;
mod refusal;
mod rights;
#[cfg(test)]
mod tests;
mod webhook;

pub use action::{Action, ActionKind, Operator, Requirement, ResourceAction, fields, labels};
pub use authorizer::{Authorizer, AuthorizerOptions};
pub use decision::{Decision, Verdict};
pub use decision_counts::ModeDecisions;
pub use escalation::check_escalation;
pub use impersonation::impersonate;
pub use mode::ModeOptions;
pub use node::{NodeRestriction, service_account_of};
pub use rights::Rights;
pub use webhook::{ReviewError, Reviewer, WebhookOptions};
