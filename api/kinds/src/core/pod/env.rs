//! Environment variables of containers and their sources.

use std::collections::HashMap;

use quorate_meta::{Cause, Quantity, name};

use super::context::VolumeType;
use super::volume_files::check_path;
use crate::core::data;
use crate::field::Field;
use crate::rules;

/// The pod fields that an environment variable can have (downward API).
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Selectable pod fields that an environment variable cannot have.
const OTHER_FIELDS: [&str; 8] = [
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.hostNetwork",
    "status.phase",
    "status.nominatedNodeName",
    "spec.host",
];
const SOURCES: [&str; 5] =
    ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
const MEMORY_DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Checks `env`; `volumes` are those of the pod.
pub(super) fn check(
    volumes: &HashMap<String, VolumeType>,
    env: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    for variable in env.items() {
        rules::name(&variable.get("name"), variable_name, causes);
        let source = variable.get("valueFrom");
        if source.is_set() {
            check_source(&variable, &source, causes);
        }
        let volume = source.get("fileKeyRef.volumeName");
        match volumes.get(volume.text()) {
            _ if volume.is_empty() => {}
            None => causes.push(Cause::not_found(volume.path(), volume.text())),
            Some(VolumeType::EmptyDir) => {}
            Some(_) => causes.push(volume.invalid("referenced volume must be of type emptyDir")),
        }
    }
}

/// Checks a FileKeySelector (KEP-5307): a key of a file in a volume.
fn check_file_key(reference: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::name(&reference.get("key"), variable_name, causes);
    check_path(&reference.get("path"), causes);
    rules::name(&reference.get("volumeName"), name::dns_label, causes);
}

/// Checks `envFrom`.
pub(super) fn check_env_from(list: &Field<'_>, causes: &mut Vec<Cause>) {
    for from in list.items() {
        rules::optional_name(&from.get("prefix"), variable_name, causes);
        let given: Vec<Field<'_>> = ["configMapRef", "secretRef"]
            .iter()
            .map(|field| from.get(field))
            .filter(Field::is_set)
            .collect();
        for source in &given {
            rules::name(&source.get("name"), name::dns_subdomain, causes);
        }
        match given.len() {
            0 => causes.push(Cause::invalid(
                from.path(),
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            )),
            1 => {}
            _ => causes.push(Cause::invalid(
                from.path(),
                "",
                "may not have more than one field specified at a time",
            )),
        }
    }
}

/// Why a text is no name of an environment variable.
fn variable_name(text: &str) -> Vec<String> {
    let fine = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    if fine { Vec::new() } else { vec![why.to_owned()] }
}

fn check_source(variable: &Field<'_>, source: &Field<'_>, causes: &mut Vec<Cause>) {
    let given: Vec<&&str> = SOURCES.iter().filter(|field| source.get(field).is_set()).collect();
    for field in &given {
        let part = source.get(field);
        match **field {
            "fieldRef" => check_field(&part, &ENV_FIELDS, true, causes),
            "resourceFieldRef" => check_resource_field(&part, false, causes),
            "fileKeyRef" => check_file_key(&part, causes),
            _ => {
                rules::required(&part.get("name"), causes);
                rules::name(&part.get("key"), data::key_problems, causes);
            }
        }
    }
    if given.is_empty() {
        let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
        causes.push(Cause::invalid(source.path(), "", why));
    } else if !variable.get("value").is_empty() {
        causes.push(Cause::invalid(
            source.path(),
            "",
            "may not be specified when `value` is not empty",
        ));
    } else if given.len() > 1 {
        causes.push(Cause::invalid(
            source.path(),
            "",
            "may not have more than one field specified at a time",
        ));
    }
}

/// Checks an ObjectFieldSelector; `keys` allows a single label or annotation by its key.
pub(super) fn check_field(
    reference: &Field<'_>,
    supported: &[&str],
    keys: bool,
    causes: &mut Vec<Cause>,
) {
    rules::required(&reference.get("apiVersion"), causes);
    let path = reference.get("fieldPath");
    let text = path.text();
    if text.is_empty() {
        causes.push(path.required(""));
        return;
    }
    if let Some((map, key)) = text.strip_suffix("']").and_then(|text| text.split_once("['")) {
        match map {
            "metadata.labels" | "metadata.annotations" if keys => {
                causes.extend(path.invalid_for(&name::qualified_name(&key.to_lowercase())));
            }
            _ => causes.push(Cause::invalid(path.path(), map, "does not support subscript")),
        }
    } else if !ENV_FIELDS.contains(&text) && !OTHER_FIELDS.contains(&text) {
        causes.push(
            path.invalid(&format!("error converting fieldPath: field label not supported: {text}")),
        );
    } else if !supported.contains(&text) {
        causes.push(path.not_supported(supported));
    }
}

/// Checks a ResourceFieldSelector; `named` requires the name of the container.
pub(super) fn check_resource_field(reference: &Field<'_>, named: bool, causes: &mut Vec<Cause>) {
    if named {
        rules::required(&reference.get("containerName"), causes);
    }
    let (resource, divisor) = (reference.get("resource"), reference.get("divisor"));
    let unset = Quantity::parse(divisor.text()).is_none_or(Quantity::is_zero);
    match known_amount(resource.text()) {
        _ if resource.is_empty() => causes.push(resource.required("")),
        None => {
            let all = [
                "limits.cpu",
                "limits.ephemeral-storage",
                "limits.memory",
                "requests.cpu",
                "requests.ephemeral-storage",
                "requests.memory",
            ];
            causes.push(resource.not_supported(&all));
        }
        Some("cpu") if !unset && !["1m", "1"].contains(&divisor.text()) => {
            causes.push(
                divisor
                    .invalid("only divisor's values 1m and 1 are supported with the cpu resource"),
            );
        }
        Some(kind) if kind != "cpu" && !unset && !MEMORY_DIVISORS.contains(&divisor.text()) => {
            let why = format!(
                "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {kind} resource"
            );
            causes.push(divisor.invalid(&why));
        }
        Some(_) => {}
    }
}

/// The resource of a selector such as `limits.cpu`.
fn known_amount(text: &str) -> Option<&str> {
    let kind = text.strip_prefix("limits.").or_else(|| text.strip_prefix("requests."));
    kind.filter(|kind| {
        matches!(*kind, "cpu" | "memory" | "ephemeral-storage") || kind.starts_with("hugepages-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn variables() {
        let check = |variable: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"e": [variable]}));
            let (empty, other) = (VolumeType::EmptyDir, VolumeType::Other);
            let volumes = HashMap::from([("v".to_owned(), empty), ("w".to_owned(), other)]);
            let mut causes = Vec::new();
            check(&volumes, &Field::root(&object).get("e"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let from = |source: serde_json::Value| json!({"name": "A", "valueFrom": source});
        let field = |path: &str| from(json!({"fieldRef": {"apiVersion": "v1", "fieldPath": path}}));
        check(json!({"name": "A b.c-9", "value": "x"}), &[]);
        check(json!({"name": "a=b"}), &["Invalid e[0].name"]);
        check(json!({"value": "x"}), &["Required e[0].name"]);
        check(from(json!({})), &["Invalid e[0].valueFrom"]);
        let path = "e[0].valueFrom.fieldRef.fieldPath";
        check(field("status.podIP"), &[]);
        check(field("metadata.labels['a/b']"), &[]);
        check(field("metadata.labels['a b']"), &[&format!("Invalid {path}")]);
        check(field("metadata.name['a']"), &[&format!("Invalid {path}")]);
        check(field("metadata.finalizers"), &[&format!("Invalid {path}")]);
        check(field("status.phase"), &[&format!("NotSupported {path}")]);
        check(field(""), &[&format!("Required {path}")]);
        let resource = |name: &str, divisor: &str| {
            from(json!({"resourceFieldRef": {"resource": name, "divisor": divisor}}))
        };
        check(resource("limits.cpu", "0"), &[]);
        check(resource("limits.cpu", "1k"), &["Invalid e[0].valueFrom.resourceFieldRef.divisor"]);
        check(
            resource("requests.memory", "1m"),
            &["Invalid e[0].valueFrom.resourceFieldRef.divisor"],
        );
        check(
            resource("limits.gpu", "0"),
            &["NotSupported e[0].valueFrom.resourceFieldRef.resource"],
        );
        check(
            from(json!({"secretKeyRef": {"key": "a/b"}})),
            &[
                "Required e[0].valueFrom.secretKeyRef.name",
                "Invalid e[0].valueFrom.secretKeyRef.key",
            ],
        );
        let file = |key: &str, path: &str, volume: &str| {
            from(json!({"fileKeyRef": {"key": key, "path": path, "volumeName": volume}}))
        };
        let at = |reason: &str, of: &str| format!("{reason} e[0].valueFrom.fileKeyRef.{of}");
        check(file("K", "a/b.env", "v"), &[]);
        check(file("", "a", "v"), &[&at("Required", "key")]);
        check(file("a=b", "a", "v"), &[&at("Invalid", "key")]);
        for path in ["/a", "../a", "a/../b", "..a"] {
            check(file("K", path, "v"), &[&at("Invalid", "path")]);
        }
        check(file("K", "", ""), &[&at("Required", "path"), &at("Required", "volumeName")]);
        check(file("K", "a", "w"), &[&at("Invalid", "volumeName")]);
        check(file("K", "a", "x"), &[&at("NotFound", "volumeName")]);
        let mut both = field("metadata.name");
        both["value"] = "x".into();
        check(both, &["Invalid e[0].valueFrom"]);
    }

    #[test]
    fn env_from() {
        let check = |from: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"e": [from]}));
            let mut causes = Vec::new();
            check_env_from(&Field::root(&object).get("e"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"prefix": "P_", "secretRef": {"name": "s"}}), &[]);
        check(json!({"configMapRef": {}}), &["Required e[0].configMapRef.name"]);
        check(json!({"prefix": "a="}), &["Invalid e[0].prefix", "Invalid e[0]"]);
        check(
            json!({"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}}),
            &["Invalid e[0]"],
        );
    }
}
