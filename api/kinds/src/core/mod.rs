//! The kinds of the core group.
//!
//! Binding and ComponentStatus have no strategy: they are not stored.

mod claim_status;
mod config_map;
pub(crate) mod data;
mod endpoints;
mod event;
mod limit_range;
mod namespace;
mod node;
mod node_config;
mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
mod service;
mod service_account;
mod volume_source;

use std::sync::Arc;

use quorate_registry::Strategy;

pub(super) use event::problems as check_event;
pub(super) use persistent_volume::check_inline as check_inline_volume;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ConfigMap" => Arc::new(config_map::ConfigMap),
        "Endpoints" => Arc::new(endpoints::Endpoints),
        "Event" => Arc::new(event::Event),
        "LimitRange" => Arc::new(limit_range::LimitRange),
        "Node" => Arc::new(node::Node),
        "Pod" => Arc::new(pod::Pod),
        "Namespace" => Arc::new(namespace::Namespace),
        "PersistentVolume" => Arc::new(persistent_volume::PersistentVolume),
        "PersistentVolumeClaim" => Arc::new(persistent_volume_claim::PersistentVolumeClaim),
        "PodTemplate" => Arc::new(pod_template::PodTemplate),
        "ReplicationController" => Arc::new(replication_controller::ReplicationController),
        "ResourceQuota" => Arc::new(resource_quota::ResourceQuota),
        "Secret" => Arc::new(secret::Secret),
        "Service" => Arc::new(service::Service),
        "ServiceAccount" => Arc::new(service_account::ServiceAccount),
        _ => return None,
    })
}
