//! The kinds of the core group.

mod configmap;
pub(crate) mod data;
mod endpoints;
mod event;
mod limitrange;
mod namespace;
mod node;
mod persistentvolume;
mod persistentvolumeclaim;
pub(crate) mod pod;
mod podtemplate;
mod replicationcontroller;
mod resourcequota;
mod secret;
mod service;
mod serviceaccount;
mod volumesource;

use std::sync::Arc;

use quorate_registry::Strategy;

pub(super) use event::problems as event_problems;
pub(super) use persistentvolume::check_inline as check_inline_volume;

/// The strategy of a kind of this group that has one of its own.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ConfigMap" => Arc::new(configmap::ConfigMap),
        "Endpoints" => Arc::new(endpoints::Endpoints),
        "Event" => Arc::new(event::Event),
        "LimitRange" => Arc::new(limitrange::LimitRange),
        "Node" => Arc::new(node::Node),
        "Pod" => Arc::new(pod::Pod),
        "Namespace" => Arc::new(namespace::Namespace),
        "PersistentVolume" => Arc::new(persistentvolume::PersistentVolume),
        "PersistentVolumeClaim" => Arc::new(persistentvolumeclaim::PersistentVolumeClaim),
        "PodTemplate" => Arc::new(podtemplate::PodTemplate),
        "ReplicationController" => Arc::new(replicationcontroller::ReplicationController),
        "ResourceQuota" => Arc::new(resourcequota::ResourceQuota),
        "Secret" => Arc::new(secret::Secret),
        "Service" => Arc::new(service::Service),
        "ServiceAccount" => Arc::new(serviceaccount::ServiceAccount),
        _ => return None,
    })
}
