//! Warnings about pods and pod templates: deprecated fields, and valid ones without the expected
//! effect.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use quorate_meta::{Names, Quantity, Value, name, quoted};

use super::annotation_warnings::{of_annotations, of_app_armor};
use super::defaults::CONTAINERS;
use super::node_labels;
use crate::address_warnings;
use crate::field::Field;

/// Deprecated volume sources and their warnings.
const DEPRECATED_VOLUMES: [(&str, &str); 16] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ("gcePersistentDisk", "deprecated in v1.17, non-functional in v1.28+"),
    ("awsElasticBlockStore", "deprecated in v1.17, non-functional in v1.27+"),
    ("cinder", "deprecated in v1.18, non-functional in v1.26+"),
    ("azureDisk", "deprecated in v1.19, non-functional in v1.27+"),
    ("azureFile", "deprecated in v1.21, in-tree driver replaced in v1.26+"),
    ("vsphereVolume", "deprecated in v1.19, in-tree driver replaced in v1.30+"),
    ("portworxVolume", "deprecated in v1.25, in-tree driver replaced in v1.31+"),
];

/// The warning about the name of a new object that is no DNS label; `becomes` is what the name is
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

/// Warnings about a pod; none when its specification has not changed.
pub(super) fn of_pod(names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
    if old.is_some_and(|old| old.get("spec") == new.get("spec")) {
        return Vec::new();
    }
    let own = if old.is_none() { of_name(new, "the Pod's hostname") } else { None };
    let root = Field::root(new);
    let spec = root.get("spec");
    let mut warnings: Vec<String> = own.into_iter().chain(of_spec(names, &spec)).collect();
    of_annotations(names, &root.get("metadata.annotations"), &spec, &mut warnings);
    warnings
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

/// Warnings about the template at a path; none when it has not changed.
pub(crate) fn of_template(
    names: &Names,
    old: Option<&Value>,
    new: &Value,
    path: &str,
) -> Vec<String> {
    let template = Field::root(new).get(path);
    if old.is_some_and(|old| Field::root(old).get(path).value() == template.value()) {
        return Vec::new();
    }
    let (annotations, spec) = (template.get("metadata.annotations"), template.get("spec"));
    let mut warnings = of_spec(names, &spec);
    of_annotations(names, &annotations, &spec, &mut warnings);
    of_app_armor(names, &annotations, &spec, &mut warnings);
    warnings
}

/// Warnings about a specification.
fn of_spec(names: &Names, spec: &Field<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    of_nodes(names, spec, &mut warnings);
    of_lists(spec, &mut warnings);
    for volume in spec.get("volumes").items() {
        let old = DEPRECATED_VOLUMES.iter().filter(|(field, _)| volume.get(field).is_set());
        warnings.extend(old.map(|(field, why)| format!("{}: {why}", volume.get(field).path())));
    }
    for list in CONTAINERS {
        spec.get(list).items().for_each(|container| of_container(&container, &mut warnings));
    }
    of_ports(spec, &mut warnings);
    let grace = spec.get("terminationGracePeriodSeconds");
    if grace.int().is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path()
        ));
    }
    of_selectors(spec, &mut warnings);
    warnings
}

/// Warnings about node selectors and topology spread constraints.
fn of_nodes(names: &Names, spec: &Field<'_>, warnings: &mut Vec<String>) {
    node_labels::of_selector(names, &spec.get("nodeSelector"), warnings);
    let affinity = spec.get("affinity.nodeAffinity");
    let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    required.items().for_each(|term| node_labels::of_term(names, &term, warnings));
    for preference in affinity.get("preferredDuringSchedulingIgnoredDuringExecution").items() {
        node_labels::of_term(names, &preference.get("preference"), warnings);
    }
    for constraint in spec.get("topologySpreadConstraints").items() {
        node_labels::of_key(names, &constraint.get("topologyKey"), warnings);
    }
}

fn of_lists(spec: &Field<'_>, warnings: &mut Vec<String>) {
    for secret in spec.get("imagePullSecrets").items() {
        let own = secret.get("name");
        if own.is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", secret.path().child("name")));
        }
    }
    let mut seen = HashSet::new();
    for alias in spec.get("hostAliases").items() {
        let address = alias.get("ip");
        if !seen.insert(address.text()) {
            warnings.push(format!("{}: duplicate ip {}", address.path(), quoted(address.text())));
        }
        warnings.extend(address_warnings::of_address(&address));
    }
    for server in spec.get("dnsConfig.nameservers").items() {
        warnings.extend(address_warnings::of_address(&server));
    }
}

fn of_container(container: &Field<'_>, warnings: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for variable in container.get("env").items() {
        let own = variable.get("name").text();
        if !seen.insert(own) {
            let why = format!(
                "hides previous definition of {}, which may be dropped when using apply",
                quoted(own)
            );
            warnings.push(format!("{}: {why}", variable.path()));
        }
    }
    for list in ["limits", "requests"] {
        for (resource, amount) in container.get("resources").get(list).entries() {
            let whole = Quantity::parse(amount.text()).is_none_or(Quantity::is_whole);
            if matches!(resource, "memory" | "ephemeral-storage") && !whole {
                let text = quoted(amount.text());
                warnings.push(format!(
                    "{}: fractional byte value {text} is invalid, must be an integer",
                    amount.path()
                ));
            }
        }
    }
}

fn of_ports(spec: &Field<'_>, warnings: &mut Vec<String>) {
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            let mut seen: HashMap<(i64, i64, &str, &str), String> = HashMap::new();
            for port in container.get("ports").items() {
                let number = |field: &str| port.get(field).int().unwrap_or_default();
                let (own, host) = (number("containerPort"), number("hostPort"));
                let (protocol, address) = (port.get("protocol").text(), port.get("hostIP").text());
                match seen.entry((own, host, protocol, address)) {
                    Entry::Occupied(first) => {
                        warnings.push(format!(
                            "{}: duplicate port definition with {}",
                            port.path(),
                            first.get()
                        ));
                    }
                    Entry::Vacant(entry) => drop(entry.insert(port.path().to_string())),
                }
            }
        }
    }
}

/// Warnings about absent label selectors, which match nothing, while empty ones match all.
fn of_selectors(spec: &Field<'_>, warnings: &mut Vec<String>) {
    let why = "a null labelSelector results in matching no pod";
    let mut push = |term: &Field<'_>| {
        let selector = term.get("labelSelector");
        if !selector.is_set() {
            warnings.push(format!("{}: {why}", selector.path()));
        }
    };
    for affinity in ["affinity.podAffinity", "affinity.podAntiAffinity"] {
        let affinity = spec.get(affinity);
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution").items() {
            push(&term);
        }
        for preference in affinity.get("preferredDuringSchedulingIgnoredDuringExecution").items() {
            push(&preference.get("podAffinityTerm"));
        }
    }
    for constraint in spec.get("topologySpreadConstraints").items() {
        push(&constraint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn reported_warnings() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({ "spec": spec }));
            assert_eq!(of_spec(Naming::Svc.names(), &Field::root(&object).get("spec")), expect);
        };
        let container = |part: &str, value: serde_json::Value| json!({"containers": [{"name": "c", part: value}]});
        check(json!({}), &[]);
        let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
        check(
            container("env", twice),
            &[
                "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
            ],
        );
        check(
            container("resources", json!({"requests": {"memory": "1500m", "cpu": "1500m"}})),
            &[
                "spec.containers[0].resources.requests[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
            ],
        );
        let ports = json!([{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP", "name": "x"}]);
        check(
            container("ports", ports),
            &[
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
            ],
        );
        check(
            json!({"imagePullSecrets": [{}]}),
            &["spec.imagePullSecrets[0].name: invalid empty name \"\""],
        );
        check(
            json!({"hostAliases": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.1"}]}),
            &["spec.hostAliases[1].ip: duplicate ip \"10.1.1.1\""],
        );
        check(
            json!({"volumes": [{"name": "g", "glusterfs": {}}]}),
            &["spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+"],
        );
        let term = json!([{"topologyKey": "zone"}]);
        check(
            json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}}),
            &[
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
            ],
        );
    }

    #[test]
    fn labels_of_nodes() {
        let old = json!({"matchExpressions": [{"key": "beta.svc.io/os", "operator": "Exists"}]});
        let affinity = json!({"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, old]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": old}]}});
        let spread =
            json!([{"topologyKey": "failure-domain.beta.svc.io/zone", "labelSelector": {}}]);
        let object = json!({"spec": {"nodeSelector": {"beta.svc.io/arch": "a"}, "affinity": affinity, "topologySpreadConstraints": spread}});
        let warnings = of_spec(Naming::Svc.names(), &Field::root(&object.into()).get("spec"));
        let paths: Vec<&str> = warnings
            .iter()
            .map(|warnings| warnings.split(": ").next().unwrap_or_default())
            .collect();
        let affinity = "spec.affinity.nodeAffinity";
        assert_eq!(
            paths,
            [
                "spec.nodeSelector[beta.svc.io/arch]".to_owned(),
                format!(
                    "{affinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[0].key"
                ),
                format!(
                    "{affinity}.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key"
                ),
                "spec.topologySpreadConstraints[0].topologyKey".to_owned(),
            ]
        );
    }

    #[test]
    fn names_of_pods_and_of_what_makes_them() {
        let check = |name: &str, expect: Option<&str>| {
            let object = Value::from(json!({"metadata": {"name": name}}));
            let names = Naming::Svc.names();
            let made = of_workload(names, None, &object, "spec.template");
            assert_eq!(made.first().map(String::as_str), expect);
            assert_eq!(of_pod(names, None, &object).len(), made.len());
            assert_eq!(
                of_workload(names, Some(&object), &object, "spec.template"),
                Vec::<String>::new()
            );
        };
        check("a-b", None);
        let why = "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended";
        check("a.b", Some(&format!("metadata.name: {why}: [must not contain dots]")));
    }
}
