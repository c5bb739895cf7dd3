//! The RBAC authorizer: decides by the rules of roles and bindings.

use super::{Rule, Rules};
use crate::authentication::User;
use crate::authorization::{Action, Decision};

/// Whether a rule that concerns the user allows the action; `group` is the name of the group of
/// roles.
pub(crate) async fn decide(
    rules: &Rules,
    group: &str,
    user: &User,
    action: &Action<'_>,
) -> Decision {
    let index = match rules.current().await {
        Ok(index) => index,
        Err(error) => {
            return Decision { error: error.into_status().message, ..Decision::default() };
        }
    };
    let namespace = match action {
        Action::Resource(on) => on.namespace,
        Action::Path { .. } => "",
    };
    let allows = |rule: &Rule| match action {
        Action::Resource(on) => rule.allows_resource(on),
        Action::Path { verb, path } => rule.allows_path(verb, path),
    };
    let mut reason = None;
    let errors = index.visit(group, user, namespace, |found| {
        let allowed = found.rules.iter().any(allows);
        if allowed {
            reason = Some(format!("RBAC: {}", found.reason()));
        }
        allowed
    });
    if let Some(reason) = reason {
        return Decision::allow(reason);
    }
    let reason = match errors.as_slice() {
        [] => String::new(),
        [error] => format!("RBAC: {error}"),
        several => format!("RBAC: [{}]", several.join(", ")),
    };
    Decision { reason, problems: errors, ..Decision::default() }
}
