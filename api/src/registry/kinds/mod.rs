//! The semantics of each served kind, one file per kind, and the table that finds them.

mod configmap;
mod data;
mod event;
mod namespace;
mod plain;
mod secret;
mod serviceaccount;

use std::sync::Arc;

use super::Strategy;

/// The strategy of a kind; `group` is the neutral name, such as `rbac.authorization`.
#[must_use]
pub(super) fn strategy(group: &str, kind: &str) -> Arc<dyn Strategy> {
    match (group, kind) {
        ("", "ConfigMap") => Arc::new(configmap::ConfigMap),
        ("", "Event") => Arc::new(event::Event),
        ("", "Namespace") => Arc::new(namespace::Namespace),
        ("", "Secret") => Arc::new(secret::Secret),
        ("", "ServiceAccount") => Arc::new(serviceaccount::ServiceAccount),
        _ => Arc::new(plain::Plain),
    }
}
