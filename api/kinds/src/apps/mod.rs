//! The kinds of the apps group: workloads that keep pods running.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;
mod stateful_set_status;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ControllerRevision" => Arc::new(controller_revision::ControllerRevision),
        "DaemonSet" => Arc::new(daemon_set::DaemonSet),
        "Deployment" => Arc::new(deployment::Deployment),
        "ReplicaSet" => Arc::new(replica_set::ReplicaSet),
        "StatefulSet" => Arc::new(stateful_set::StatefulSet),
        _ => return None,
    })
}
