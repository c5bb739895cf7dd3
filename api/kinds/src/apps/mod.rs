//! The kinds of the apps group: workloads that keep pods running.

mod controllerrevision;
mod daemonset;
mod deployment;
mod replicaset;
mod statefulset;
mod statefulset_status;

use std::sync::Arc;

pub(crate) use replicaset::check_replicas;

use quorate_registry::Strategy;

/// The strategy of a kind of this group that has one of its own.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ControllerRevision" => Arc::new(controllerrevision::ControllerRevision),
        "DaemonSet" => Arc::new(daemonset::DaemonSet),
        "Deployment" => Arc::new(deployment::Deployment),
        "ReplicaSet" => Arc::new(replicaset::ReplicaSet),
        "StatefulSet" => Arc::new(statefulset::StatefulSet),
        _ => return None,
    })
}
