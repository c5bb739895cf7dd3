//! Rules of roles, and to whom bindings give them (document 000, "ClusterRole" to "RoleBinding").
//!
//! [`Index`] holds all of them compiled, as an immutable state that requests read without a lock; `Rules` keeps the newest
//! one and follows the store: before it answers, it has taken in everything that this node has applied, and every write of
//! a role or binding that was acknowledged through this node. [`RuleFeed`] reads the first state and keeps later ones from
//! being made on a request's time. Nothing here writes.

mod covers;
mod feed;
mod index;
mod key;
#[cfg(test)]
mod model;
mod rule;
mod rules;

pub(crate) use covers::{missing, missing_rules};
pub use feed::{FeedOptions, RuleFeed, RuleFeedHandle};
pub use index::Index;
pub(crate) use rule::Rule;
pub(crate) use rules::Rules;

/// Neutral name of the group that roles and bindings are in.
pub(crate) const GROUP: &str = "rbac.authorization";
