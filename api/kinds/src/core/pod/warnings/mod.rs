//! Warnings about pods and pod templates: deprecated fields, and valid ones without the expected
//! effect. A change of a pod has none, as most come from controllers.

mod annotations;
mod containers;
mod paths;
mod ports;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use quorate_meta::{Names, Value, name, quoted};
use quorate_registry::strategy::intent_differs;

use super::defaults::CONTAINERS;
use super::node_labels;
use crate::address_warnings;
use crate::core::persistent_volume_claim;
use crate::field::Field;

/// Deprecated volume sources: their fields, as they are named in warnings, and since when.
const DEPRECATED_VOLUMES: [(&str, &str, &str); 9] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The warning about the name of a new object that is no DNS label; `used_in` is what the name is
/// used for.
fn of_name(object: &Value, used_in: &str) -> Option<String> {
    let text = object.str_at(&["metadata", "name"]).unwrap_or_default();
    let wrong = name::dns_label(text);
    if wrong.is_empty() {
        return None;
    }
    let wrong = if text.contains('.') { vec!["must not contain dots".to_owned()] } else { wrong };
    Some(format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
        wrong.join(" ")
    ))
}

/// Warnings about a new pod.
pub(super) fn of_pod(names: &Names, new: &Value) -> Vec<String> {
    let own = of_name(new, "the Pod's hostname");
    let found = of_spec(names, &Field::root(new), false);
    own.into_iter().chain(found).collect()
}

/// Warnings about the addresses in the status of a pod.
pub(super) fn of_status(new: &Value) -> Vec<String> {
    let status = Field::root(new).get("status");
    let lists = ["podIPs", "hostIPs"].map(|list| status.get(list));
    let entries = lists.iter().flat_map(Field::items);
    entries.filter_map(|entry| address_warnings::of_address(&entry.get("ip"))).collect()
}

/// Warnings about a workload whose pods have its name as a prefix, and about its template.
pub(crate) fn of_workload(
    names: &Names,
    old: Option<&Value>,
    new: &Value,
    path: &str,
) -> Vec<String> {
    let own = if old.is_none() { of_name(new, "Pod names and hostnames") } else { None };
    own.into_iter().chain(of_template(names, old, new, path)).collect()
}

/// Warnings about the template at a path; none when nothing has changed that a generation counts.
pub(crate) fn of_template(
    names: &Names,
    old: Option<&Value>,
    new: &Value,
    path: &str,
) -> Vec<String> {
    if old.is_some_and(|old| !intent_differs(old, new)) {
        return Vec::new();
    }
    of_spec(names, &Field::root(new).get(path), true)
}

/// Warnings about a pod or a template.
fn of_spec(names: &Names, pod: &Field<'_>, is_template: bool) -> Vec<String> {
    let (annotations, spec) = (pod.get("metadata.annotations"), pod.get("spec"));
    let mut warnings = Vec::new();
    of_nodes(names, &spec, &mut warnings);
    annotations::of_retired(names, &annotations, &mut warnings);
    for volume in spec.get("volumes").items() {
        of_volume(&volume, &mut warnings);
    }
    paths::of_volumes(&spec.get("volumes"), &mut warnings);
    of_repeated(&spec, &mut warnings);
    containers::of_overhead(&spec.get("overhead"), &mut warnings);
    annotations::of_pod_seccomp(names, &annotations, &spec, &mut warnings);
    for list in CONTAINERS {
        for container in spec.get(list).items() {
            annotations::of_container_seccomp(names, &annotations, &container, &mut warnings);
            if is_template {
                annotations::of_app_armor(names, &annotations, &spec, &container, &mut warnings);
            }
            containers::of_container(&container, &mut warnings);
        }
    }
    ports::of_ports(&spec, &mut warnings);
    let grace = spec.get("terminationGracePeriodSeconds");
    if grace.int().is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path()
        ));
    }
    of_affinity(&spec.get("affinity"), &mut warnings);
    of_addresses(&spec, &mut warnings);
    warnings
}

/// Warnings about node selectors and topology spread constraints.
fn of_nodes(names: &Names, spec: &Field<'_>, warnings: &mut Vec<String>) {
    node_labels::of_selector(names, &spec.get("nodeSelector"), warnings);
    let affinity = spec.get("affinity.nodeAffinity");
    let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    required.items().for_each(|term| node_labels::of_term(names, &term, warnings));
    for preference in affinity.get("preferredDuringSchedulingIgnoredDuringExecution").items() {
        node_labels::of_term_and_values(names, &preference.get("preference"), warnings);
    }
    for constraint in spec.get("topologySpreadConstraints").items() {
        node_labels::of_key(names, &constraint.get("topologyKey"), warnings);
        of_selector(&constraint, warnings);
    }
}

fn of_volume(volume: &Field<'_>, warnings: &mut Vec<String>) {
    let old = DEPRECATED_VOLUMES.iter().filter(|(field, ..)| volume.get(field).is_set());
    warnings.extend(old.map(|(_, shown, why)| format!("{}: {why}", volume.path().child(shown))));
    let claim = volume.get("ephemeral.volumeClaimTemplate");
    if claim.is_set() {
        warnings.extend(persistent_volume_claim::fraction_warning(&claim.get("spec")));
    }
}

/// Warnings about repeated addresses of host aliases and names of secrets, and about empty names.
fn of_repeated(spec: &Field<'_>, warnings: &mut Vec<String>) {
    for (list, field, what) in [("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")] {
        let mut seen = HashSet::new();
        for item in spec.get(list).items() {
            let own = item.get(field);
            if !seen.insert(own.text()) {
                warnings.push(format!("{}: duplicate {what} {}", own.path(), quoted(own.text())));
            }
        }
    }
    for secret in spec.get("imagePullSecrets").items() {
        let own = secret.get("name");
        if own.is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", own.path()));
        }
    }
}

/// Warnings about pod affinity without a label selector.
fn of_affinity(affinity: &Field<'_>, warnings: &mut Vec<String>) {
    for pods in [affinity.get("podAffinity"), affinity.get("podAntiAffinity")] {
        for term in pods.get("requiredDuringSchedulingIgnoredDuringExecution").items() {
            of_selector(&term, warnings);
        }
        for preference in pods.get("preferredDuringSchedulingIgnoredDuringExecution").items() {
            of_selector(&preference.get("podAffinityTerm"), warnings);
        }
    }
}

/// The warning about an absent label selector, which matches nothing, while an empty one matches
/// all.
fn of_selector(rule: &Field<'_>, warnings: &mut Vec<String>) {
    let selector = rule.get("labelSelector");
    if !selector.is_set() {
        let path = selector.path();
        warnings.push(format!("{path}: a null labelSelector results in matching no pod"));
    }
}

fn of_addresses(spec: &Field<'_>, warnings: &mut Vec<String>) {
    let servers = spec.get("dnsConfig.nameservers");
    warnings.extend(servers.items().filter_map(|server| address_warnings::of_address(&server)));
    let aliases = spec.get("hostAliases");
    let addresses = aliases.items().map(|alias| alias.get("ip"));
    warnings.extend(addresses.filter_map(|address| address_warnings::of_address(&address)));
}
