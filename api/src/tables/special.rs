//! Cells that the schema only says in words: which function makes them, by kind and column.

use quorate_meta::Value;

use super::join::{NONE, items, text};
use super::{
    autoscaling, batch, binding, certificate, component, event, network, node, pod, quota, storage,
};

/// A cell that no simple form describes: the object and the time now (milliseconds) to its text.
pub(super) type Special = fn(&Value, u64) -> Value;

/// The function of a column that has one.
pub(super) fn find(kind: &str, column: &str) -> Option<Special> {
    match kind {
        "ComponentStatus" => component::special(column),
        "CronJob" | "Job" => batch::special(kind, column),
        "CertificateSigningRequest" => certificate::special(column),
        "RoleBinding" | "ClusterRoleBinding" => binding::special(column),
        "Event" => event::special(kind, column),
        "HorizontalPodAutoscaler" => autoscaling::special(column),
        "Node" => node::special(column),
        "Pod" => pod::special(column),
        "ResourceQuota" => quota::special(column),
        "Deployment" | "StatefulSet" if column == "Ready" => Some(ready),
        "ControllerRevision" if column == "Controller" => Some(controller),
        _ => network::special(kind, column).or_else(|| storage::special(kind, column)),
    }
}

/// How many of the wished pods are ready.
fn ready(object: &Value, _now_ms: u64) -> Value {
    let count = |path: &[&str]| object.at(path).and_then(Value::as_i64).unwrap_or_default();
    format!("{}/{}", count(&["status", "readyReplicas"]), count(&["spec", "replicas"])).into()
}

/// The owner that manages the object.
fn controller(object: &Value, _now_ms: u64) -> Value {
    let owner = items(object, &["metadata", "ownerReferences"])
        .iter()
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true));
    let Some(owner) = owner else {
        return NONE.into();
    };
    let own = |field: &str| text(owner, &[field]);
    let kind = own("kind").to_lowercase();
    let group =
        own("apiVersion").split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{kind}{group}/{}", own("name")).into()
}
