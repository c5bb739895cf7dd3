//! Roles and bindings that the cluster looks after by itself: those that it starts with, and rules that one role takes over
//! from others.

pub(super) mod aggregate;
pub(super) mod reconcile;
