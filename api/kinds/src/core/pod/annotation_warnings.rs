//! Warnings about annotations of pods and templates that fields have replaced.
//!
//! Invariant: an annotation that stands beside the field of the same meaning is not told.

use quorate_meta::Names;

use super::defaults::CONTAINERS;
use crate::field::Field;

/// Annotations without an effect: the beginning of their key, its end, since when, and the field.
const RETIRED: [(&str, &str, &str, &str); 3] = [
    ("scheduler.alpha.", "critical-pod", "v1.16", "priorityClassName"),
    ("security.alpha.", "sysctls", "v1.11", "sysctls"),
    ("security.alpha.", "unsafe-sysctls", "v1.11", "sysctls"),
];

/// Warnings about the annotations beside a specification.
pub(super) fn of_annotations(
    names: &Names,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    warnings: &mut Vec<String>,
) {
    let mut tell = |key: &str, why: &str| {
        let given = annotations.entries().find(|(own, _)| *own == key);
        warnings.extend(given.map(|(_, field)| format!("{}: {why}", field.path())));
    };
    let seccomp = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let domain = |begin: &str, name: &str| format!("{begin}{}", names.domain_key(name));
    for (begin, name, since, field) in RETIRED {
        let replaced = field == "priorityClassName" && !spec.get(field).is_empty();
        if !replaced {
            let why = format!("non-functional in {since}+; use the \"{field}\" field instead");
            tell(&domain(begin, name), &why);
        }
    }
    if !spec.get("securityContext.seccompProfile").is_set() {
        tell(&domain("seccomp.security.alpha.", "pod"), seccomp);
    }
    for container in CONTAINERS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        if !container.get("securityContext.seccompProfile").is_set() {
            let name = container.get("name");
            tell(&domain("container.seccomp.security.alpha.", name.text()), seccomp);
        }
    }
}

/// Warnings about the AppArmor annotations of a template that no field repeats.
pub(super) fn of_app_armor(
    names: &Names,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    warnings: &mut Vec<String>,
) {
    let pod = profile(&spec.get("securityContext.appArmorProfile"));
    for container in CONTAINERS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        if container.get("securityContext.appArmorProfile").is_set() {
            continue;
        }
        let name = container.get("name");
        let key = format!("container.apparmor.security.beta.{}", names.domain_key(name.text()));
        let given = annotations.entries().find(|(own, _)| *own == key);
        if let Some((_, field)) = given.filter(|(_, field)| pod.as_deref() != Some(field.text())) {
            warnings.push(format!(
                "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                field.path()
            ));
        }
    }
}

/// A profile as its annotation says it.
fn profile(field: &Field<'_>) -> Option<String> {
    match field.get("type").text() {
        "Unconfined" => Some("unconfined".to_owned()),
        "RuntimeDefault" => Some("runtime/default".to_owned()),
        "Localhost" => Some(format!("localhost/{}", field.get("localhostProfile").text())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    use super::*;

    fn found(template: &serde_json::Value) -> Vec<String> {
        let object = Value::from(json!({ "template": template }));
        let template = Field::root(&object).get("template");
        let (annotations, spec) = (template.get("metadata.annotations"), template.get("spec"));
        let (names, mut warnings) = (Naming::Kubernetes.names(), Vec::new());
        of_annotations(names, &annotations, &spec, &mut warnings);
        of_app_armor(names, &annotations, &spec, &mut warnings);
        warnings
    }

    #[test]
    fn annotations_that_fields_have_replaced() {
        let check = |key: &str, value: &str, spec: serde_json::Value, expect: Option<&str>| {
            let mut spec = spec;
            if spec.get("containers").is_none() {
                spec["containers"] = json!([{"name": "c"}]);
            }
            let metadata = json!({"annotations": {key: value}});
            let told = found(&json!({"metadata": metadata, "spec": spec}));
            let expect = expect.map(|why| format!("template.metadata.annotations[{key}]: {why}"));
            assert_eq!(told, Vec::from_iter(expect), "{key}");
        };
        let seccomp = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
        let pod = "seccomp.security.alpha.kubernetes.io/pod";
        let profile = json!({"seccompProfile": {"type": "RuntimeDefault"}});
        check(pod, "x", json!({}), Some(seccomp));
        check(pod, "x", json!({"securityContext": profile}), None);
        let container = "container.seccomp.security.alpha.kubernetes.io/c";
        check(container, "x", json!({}), Some(seccomp));
        let own = json!([{"name": "c", "securityContext": profile}]);
        check(container, "x", json!({"containers": own}), None);
        check("container.seccomp.security.alpha.kubernetes.io/other", "x", json!({}), None);
        let critical = "scheduler.alpha.kubernetes.io/critical-pod";
        let why = "non-functional in v1.16+; use the \"priorityClassName\" field instead";
        check(critical, "true", json!({}), Some(why));
        check(critical, "true", json!({"priorityClassName": "p"}), None);
        let why = "non-functional in v1.11+; use the \"sysctls\" field instead";
        check("security.alpha.kubernetes.io/sysctls", "a=b", json!({}), Some(why));
        let armor = "container.apparmor.security.beta.kubernetes.io/c";
        let why = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
        check(armor, "runtime/default", json!({}), Some(why));
        let profile = json!({"appArmorProfile": {"type": "RuntimeDefault"}});
        check(armor, "runtime/default", json!({"securityContext": profile}), None);
        check(armor, "unconfined", json!({"securityContext": profile}), Some(why));
        let own = json!([{"name": "c", "securityContext": profile}]);
        check(armor, "unconfined", json!({"containers": own}), None);
        check("a", "b", json!({}), None);
    }
}
