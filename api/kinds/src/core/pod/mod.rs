//! Pod and PodTemplateSpec: one set of defaults and checks for pods and for the templates of
//! workloads.
//!
//! A file for each part of the specification; [`spec`] checks all of them, workloads use
//! [`template`].

mod affinity;
mod app_armor;
mod containers;
mod context;
pub(crate) mod defaults;
mod deletion;
mod env;
mod ephemeral;
mod handlers;
mod host_process;
mod label_keys;
mod mounts;
mod network;
pub(crate) mod node_labels;
mod os;
mod pod_annotations;
mod pod_resources;
mod pod_status;
mod ports;
mod resize;
mod resources;
mod scheduling;
mod security;
mod spec;
mod strategy;
pub(crate) mod template;
mod update;
mod volume_files;
mod volumes;
pub(crate) mod warnings;

pub(crate) use affinity::check_node_selector;
pub(crate) use resources::check_amount;
pub(crate) use scheduling::{check_taint_effect, check_tolerations};
pub(super) use strategy::Pod;
pub(crate) use volumes::check_claim_template;
pub(super) use volumes::check_source_of;
