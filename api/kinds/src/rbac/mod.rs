//! The kinds of the group rbac.authorization.
//!
//! Privilege escalation is prevented in `quorate_access`.

mod role;
mod role_binding;

use std::sync::Arc;

use quorate_meta::Value;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Role" => Arc::new(role::Role { namespaced: true }),
        "ClusterRole" => Arc::new(role::Role { namespaced: false }),
        "RoleBinding" => Arc::new(role_binding::RoleBinding { namespaced: true }),
        "ClusterRoleBinding" => Arc::new(role_binding::RoleBinding { namespaced: false }),
        _ => return None,
    })
}

/// Whether two objects differ in more than the metadata that garbage collection and the server
/// change.
fn differs(old: &Value, new: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            object.remove_at(&["metadata", field]);
        }
        object
    };
    bare(old) != bare(new)
}
