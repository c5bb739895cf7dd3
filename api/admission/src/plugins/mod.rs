//! The built-in admission plugins, a file each, and the table of them (`PLUGINS`).
//!
//! Invariants: the rows are in the order of the release (all mutating parts in order, then all
//! validating parts in order), and flags do not change it; ResourceQuota comes last, because it
//! counts only what is admitted. No plugin has side effects: what one adds to a write is written by
//! its transaction.
//!
//! Not here: webhooks and admission policies.

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
pub(crate) mod storage_resize;

use crate::plugin::Plugin;
use quorate_registry::error::Error;

use crate::rules::{ALL, Create, Rule, Update};

/// A row of [`PLUGINS`].
pub(crate) struct Row {
    /// The name of the plugin in the release's flags.
    pub(crate) name: &'static str,
    /// The writes that its mutating part handles.
    pub(crate) mutates: &'static [Rule],
    /// The writes that its validating part handles.
    pub(crate) validates: &'static [Rule],
    pub(crate) plugin: &'static dyn Plugin,
}

impl Row {
    /// The verdict of the plugin; a refusal is traced by the plugin's name.
    pub(crate) fn traced(&self, verdict: Result<(), Error>) -> Result<(), Error> {
        if verdict.is_err() {
            tracing::debug!(plugin = self.name, "the admission plugin refuses a write");
        }
        verdict
    }
}

const fn row(
    name: &'static str,
    mutates: &'static [Rule],
    validates: &'static [Rule],
    plugin: &'static dyn Plugin,
) -> Row {
    Row { name, mutates, validates, plugin }
}

const NEW_PODS: &[Rule] = &[Rule::of(&[Create], "", "pods")];
const NEW_CLAIMS: &[Rule] = &[Rule::of(&[Create], "", "persistentvolumeclaims")];
const PODS_AND_CLAIMS: &[Rule] = &[
    Rule::of(&[Create], "", "pods"),
    Rule::of(&[Update], "", "pods").at("resize"),
    Rule::of(&[Create, Update], "", "persistentvolumeclaims"),
];
const EPHEMERAL_CONTAINERS: &[Rule] = &[Rule::of(&[Update], "", "pods").at("ephemeralcontainers")];
const PODS_AND_TEMPLATES: &[Rule] = &[
    Rule::of(&[Create, Update], "", "pods"),
    Rule::of(&[Update], "", "pods").at("ephemeralcontainers"),
    Rule::of(&[Create, Update], "", "namespaces"),
    Rule::of(&[Create, Update], "", "podtemplates"),
    Rule::of(&[Create, Update], "", "replicationcontrollers"),
    Rule::of(&[Create, Update], "apps", "daemonsets"),
    Rule::of(&[Create, Update], "apps", "deployments"),
    Rule::of(&[Create, Update], "apps", "replicasets"),
    Rule::of(&[Create, Update], "apps", "statefulsets"),
    Rule::of(&[Create, Update], "batch", "cronjobs"),
    Rule::of(&[Create, Update], "batch", "jobs"),
];
const PRIORITY_CLASSES: &[Rule] = &[Rule::of(&[Create, Update], "scheduling", "priorityclasses")];
const CHANGED_CLAIMS: &[Rule] = &[Rule::of(&[Update], "", "persistentvolumeclaims")];
const NEW_INGRESSES: &[Rule] = &[Rule::of(&[Create], "networking", "ingresses")];
const NEW_PODS_AND_BINDINGS: &[Rule] =
    &[Rule::of(&[Create], "", "pods"), Rule::of(&[Create], "", "pods").at("binding")];
const DEVICE_CLAIMS: &[Rule] = &[
    Rule::of(&[Create], "resource", "resourceclaims"),
    Rule::of(&[Update], "resource", "resourceclaims").at("status"),
    Rule::of(&[Create], "resource", "resourceclaimtemplates"),
];

/// The plugins in the order in which each phase asks them.
pub(crate) const PLUGINS: &[Row] = &[
    row("LimitRanger", NEW_PODS, PODS_AND_CLAIMS, &limit_range::LimitRanger),
    row("ServiceAccount", NEW_PODS, EPHEMERAL_CONTAINERS, &service_account::ServiceAccount),
    row("PodSecurity", &[], PODS_AND_TEMPLATES, &pod_security::PodSecurity),
    row("Priority", NEW_PODS, PRIORITY_CLASSES, &priority::Priority),
    row("DefaultStorageClass", NEW_CLAIMS, &[], &storage_class::DefaultStorageClass),
    row(
        "PersistentVolumeClaimResize",
        &[],
        CHANGED_CLAIMS,
        &storage_resize::PersistentVolumeClaimResize,
    ),
    row("RuntimeClass", NEW_PODS, NEW_PODS, &runtime_class::RuntimeClass),
    row("DefaultIngressClass", NEW_INGRESSES, &[], &ingress_class::DefaultIngressClass),
    row("PodTopologyLabels", NEW_PODS_AND_BINDINGS, &[], &pod_topology::PodTopologyLabels),
    // In the release this check is part of the ResourceClaim strategy.
    row("DRAAdminAccess", &[], DEVICE_CLAIMS, &admin_access::AdminAccess),
];

/// The writes that the quota phase handles.
pub(crate) const COUNTED: &[Rule] = &[Rule::of(&[Create, Update], "", ALL).at(ALL)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_in_the_order_of_the_release() {
        let order = [
            "LimitRanger",
            "ServiceAccount",
            "PodSecurity",
            "Priority",
            "DefaultStorageClass",
            "PersistentVolumeClaimResize",
            "RuntimeClass",
            "DefaultIngressClass",
            "PodTopologyLabels",
            "DRAAdminAccess",
        ];
        assert_eq!(PLUGINS.iter().map(|row| row.name).collect::<Vec<_>>(), order);
    }
}
