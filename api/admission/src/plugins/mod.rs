//! The built-in plugins, a file each, and the order in which they are asked.

pub(crate) mod admin_access;
pub(crate) mod amounts;
pub(crate) mod ingress_class;
pub(crate) mod limit_range;
pub(crate) mod pod_security;
pub(crate) mod pod_topology;
pub(crate) mod priority;
pub mod quota;
pub(crate) mod runtime_class;
pub(crate) mod service_account;
pub(crate) mod storage_class;

use crate::plugin::Plugin;

/// In this order: quotas last, because they count only what is let through.
pub(crate) const PLUGINS: &[&dyn Plugin] = &[
    &limit_range::LimitRanger,
    &service_account::ServiceAccount,
    &pod_security::PodSecurity,
    &priority::Priority,
    &storage_class::DefaultStorageClass,
    &ingress_class::DefaultIngressClass,
    &runtime_class::RuntimeClass,
    &pod_topology::PodTopology,
    &admin_access::AdminAccess,
    &quota::ResourceQuota,
];
