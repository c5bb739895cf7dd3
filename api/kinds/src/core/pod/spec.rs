//! PodSpec: the checks of all its parts, in order.

use quorate_meta::{Cause, Names, name};

use super::context::PodContext;
use super::{
    affinity, containers, ephemeral, host_process, network, os, pod_resources, resources,
    scheduling, security, volumes,
};
use crate::field::Field;
use crate::rules;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const MAX_DEADLINE: i64 = 2_147_483_647;

/// Checks a specification. A template may omit what only pods need; `further` are names of volumes
/// that are added to its pods.
pub(super) fn check(
    names: &Names,
    spec: &Field<'_>,
    template: bool,
    further: Vec<&str>,
    causes: &mut Vec<Cause>,
) {
    volumes::check(&spec.get("volumes"), causes);
    let context = PodContext::of(names, spec, further);
    containers::check(&context, spec, causes);
    ephemeral::check(&context, spec, causes);
    scheduling::check_claims(&spec.get("resourceClaims"), causes);
    check_restart_policy(&spec.get("restartPolicy"), causes);
    network::check_policy(&spec.get("dnsPolicy"), causes);
    rules::labels(&spec.get("nodeSelector"), causes);
    security::check_pod(spec, template, causes);
    affinity::check(&spec.get("affinity"), causes);
    network::check_dns(spec, causes);
    scheduling::check_gates(spec, causes);
    scheduling::check_topology_spread(&spec.get("topologySpreadConstraints"), causes);
    for (field, rule) in [
        ("serviceAccountName", name::dns_subdomain as fn(&str) -> Vec<String>),
        ("nodeName", name::dns_subdomain),
        ("priorityClassName", name::dns_subdomain),
        ("runtimeClassName", name::dns_subdomain),
    ] {
        rules::optional_name(&spec.get(field), rule, causes);
    }
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.is_set() {
        rules::between(
            &deadline,
            1,
            MAX_DEADLINE,
            "must be between 1 and 2147483647, inclusive",
            causes,
        );
    }
    network::check_names(spec, causes);
    scheduling::check_tolerations(&spec.get("tolerations"), causes);
    network::check_aliases(&spec.get("hostAliases"), causes);
    rules::optional_one_of(
        &spec.get("preemptionPolicy"),
        &["PreemptLowerPriority", "Never"],
        causes,
    );
    for (resource, amount) in spec.get("overhead").entries() {
        resources::check_amount(names, resource, &amount, causes);
    }
    pod_resources::check(names, spec, causes);
    host_process::check(spec, causes);
    os::check(spec, causes);
}

fn check_restart_policy(policy: &Field<'_>, causes: &mut Vec<Cause>) {
    if policy.is_empty() {
        causes.push(policy.required(""));
    } else if !RESTART_POLICIES.contains(&policy.text()) {
        causes.push(policy.not_supported(&RESTART_POLICIES));
    }
}
