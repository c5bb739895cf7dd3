//! The reconcilers of roles and bindings: the default ones, and the rules of aggregated cluster
//! roles.

pub(super) mod aggregate;
pub(super) mod reconcile;
