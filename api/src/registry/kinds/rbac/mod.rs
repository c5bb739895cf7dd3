//! The kinds of the group rbac.authorization.

mod binding;
mod role;

use std::sync::Arc;

use crate::registry::Strategy;

/// The strategy of a kind of this group that has one of its own.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Role" => Arc::new(role::Role { namespaced: true }),
        "ClusterRole" => Arc::new(role::Role { namespaced: false }),
        "RoleBinding" => Arc::new(binding::Binding { namespaced: true }),
        "ClusterRoleBinding" => Arc::new(binding::Binding { namespaced: false }),
        _ => return None,
    })
}
