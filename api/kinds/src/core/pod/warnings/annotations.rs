//! Warnings about annotations of pods and templates that fields have replaced.
//!
//! Invariant: an annotation that stands beside the field of the same meaning is not told.

use quorate_meta::Names;

use crate::core::pod::app_armor;
use crate::field::Field;

const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

/// Annotations without an effect: the beginning of their key, its end, since when, and the field.
const RETIRED: [(&str, &str, &str, &str); 3] = [
    ("scheduler.alpha.", "critical-pod", "v1.16", "priorityClassName"),
    ("security.alpha.", "sysctls", "v1.11", "sysctls"),
    ("security.alpha.", "unsafe-sysctls", "v1.11", "sysctls"),
];

/// Warnings about annotations that have no effect at all.
pub(super) fn of_retired(names: &Names, annotations: &Field<'_>, warnings: &mut Vec<String>) {
    for (begin, name, since, field) in RETIRED {
        let why = format!("non-functional in {since}+; use the \"{field}\" field instead");
        tell(annotations, &key(names, begin, name), &why, warnings);
    }
}

/// The warning about the seccomp annotation of a pod without a profile.
pub(super) fn of_pod_seccomp(
    names: &Names,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    warnings: &mut Vec<String>,
) {
    if !spec.get("securityContext.seccompProfile").is_set() {
        tell(annotations, &key(names, "seccomp.security.alpha.", "pod"), SECCOMP, warnings);
    }
}

/// The warning about the seccomp annotation of a container without a profile.
pub(super) fn of_container_seccomp(
    names: &Names,
    annotations: &Field<'_>,
    container: &Field<'_>,
    warnings: &mut Vec<String>,
) {
    if !container.get("securityContext.seccompProfile").is_set() {
        let name = container.get("name");
        let key = key(names, "container.seccomp.security.alpha.", name.text());
        tell(annotations, &key, SECCOMP, warnings);
    }
}

/// The warning about the AppArmor annotation of a container in a template that no field repeats.
pub(super) fn of_app_armor(
    names: &Names,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    container: &Field<'_>,
    warnings: &mut Vec<String>,
) {
    if container.get("securityContext.appArmorProfile").is_set() {
        return;
    }
    let key = app_armor::key(names, container.get("name").text());
    let pod = app_armor::annotation(&spec.get("securityContext.appArmorProfile"));
    if annotations.value().str_at(&[&key]) != pod.as_deref() {
        tell(annotations, &key, app_armor::DEPRECATED, warnings);
    }
}

/// The key of an annotation below the profile's domain.
fn key(names: &Names, begin: &str, name: &str) -> String {
    format!("{begin}{}", names.domain_key(name))
}

/// Adds the warning about an annotation, if that is there.
fn tell(annotations: &Field<'_>, key: &str, why: &str, warnings: &mut Vec<String>) {
    if annotations.value().get(key).is_some() {
        warnings.push(format!("{}: {why}", annotations.path().key(key)));
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    use crate::core::pod::warnings::of_template;

    fn found(template: &serde_json::Value) -> Vec<String> {
        let object = Value::from(json!({ "template": template }));
        of_template(Naming::Kubernetes.names(), None, &object, "template")
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
        check(critical, "true", json!({"priorityClassName": "p"}), Some(why));
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
