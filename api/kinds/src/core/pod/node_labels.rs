//! Deprecated node labels, and the warnings about their use in node selectors.

use quorate_meta::{Names, name, quoted};

use crate::field::Field;

/// Since when a label is deprecated, and its replacement; `None` for other labels.
pub(crate) fn deprecation(names: &Names, key: &str) -> Option<String> {
    let (domain, name) = key.split_once('/')?;
    let below = domain.strip_suffix(names.domain)?;
    let (since, now) = match (below, name) {
        ("beta.", "arch" | "os") => ("deprecated since v1.14; ", names.domain_key(name)),
        ("beta.", "instance-type") => {
            ("deprecated since v1.17; ", format!("node.{}", names.domain_key(name)))
        }
        ("failure-domain.beta.", "region" | "zone") => {
            ("deprecated since v1.17; ", format!("topology.{}", names.domain_key(name)))
        }
        ("node-role.", "master") => {
            ("", format!("node-role.{}", names.domain_key("control-plane")))
        }
        ("app.", "created-by") => return Some("deprecated since v1.9".to_owned()),
        ("scheduler.alpha.", "preferAvoidPods") => {
            return Some("deprecated since v1.22; use Taints and Tolerations instead".to_owned());
        }
        _ => return None,
    };
    Some(format!("{since}use {} instead", quoted(&now)))
}

/// Warnings about the keys of a `nodeSelector`.
pub(super) fn of_selector(names: &Names, selector: &Field<'_>, warnings: &mut Vec<String>) {
    for (key, field) in selector.entries() {
        warnings.extend(deprecation(names, key).map(|why| format!("{}: {why}", field.path())));
    }
}

/// The warning about a field that holds a label key.
pub(super) fn of_key(names: &Names, field: &Field<'_>, warnings: &mut Vec<String>) {
    let key = field.text();
    warnings.extend(deprecation(names, key).map(|why| format!("{}: {key} is {why}", field.path())));
}

/// Warnings about a NodeSelectorTerm, or another selector with such expressions.
pub(crate) fn of_term(names: &Names, term: &Field<'_>, warnings: &mut Vec<String>) {
    for expression in term.get("matchExpressions").items() {
        of_key(names, &expression.get("key"), warnings);
    }
}

/// Warnings about a NodeSelectorTerm whose values no rule checks.
pub(crate) fn of_term_and_values(names: &Names, term: &Field<'_>, warnings: &mut Vec<String>) {
    for expression in term.get("matchExpressions").items() {
        of_key(names, &expression.get("key"), warnings);
        for value in expression.get("values").items() {
            let text = value.text();
            let wrong = name::label_value(text);
            warnings.extend(
                wrong.iter().map(|why| format!("{}: {text} is invalid, {why}", value.path())),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    #[test]
    fn old_names() {
        let check = |naming: Naming, key: &str, expect: Option<&str>| {
            assert_eq!(deprecation(naming.names(), key).as_deref(), expect, "{key}");
        };
        let arch = "deprecated since v1.14; use \"kubernetes.io/arch\" instead";
        check(Naming::Kubernetes, "beta.kubernetes.io/arch", Some(arch));
        check(Naming::Svc, "beta.kubernetes.io/arch", None);
        check(
            Naming::Svc,
            "beta.svc.io/os",
            Some("deprecated since v1.14; use \"svc.io/os\" instead"),
        );
        let kind = "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead";
        check(Naming::Kubernetes, "beta.kubernetes.io/instance-type", Some(kind));
        let zone = "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead";
        check(Naming::Kubernetes, "failure-domain.beta.kubernetes.io/zone", Some(zone));
        let master = "use \"node-role.kubernetes.io/control-plane\" instead";
        check(Naming::Kubernetes, "node-role.kubernetes.io/master", Some(master));
        check(Naming::Svc, "app.svc.io/created-by", Some("deprecated since v1.9"));
        let avoid = "deprecated since v1.22; use Taints and Tolerations instead";
        check(Naming::Svc, "scheduler.alpha.svc.io/preferAvoidPods", Some(avoid));
        for key in
            ["kubernetes.io/arch", "beta.kubernetes.io/zone", "arch", "beta.example.com/os", ""]
        {
            check(Naming::Kubernetes, key, None);
        }
    }

    #[test]
    fn paths_of_warnings() {
        let object = Value::from(json!({"s": {"beta.svc.io/os": "linux", "a": "b"},
            "t": {"matchExpressions": [{"key": "a"}, {"key": "beta.svc.io/os"}]},
            "u": {"matchExpressions": [{"key": "a", "values": ["b", "-"]}]}}));
        let (root, mut warnings) = (Field::root(&object), Vec::new());
        of_selector(Naming::Svc.names(), &root.get("s"), &mut warnings);
        of_term(Naming::Svc.names(), &root.get("t"), &mut warnings);
        let why = "deprecated since v1.14; use \"svc.io/os\" instead";
        let key = "t.matchExpressions[1].key: beta.svc.io/os is";
        assert_eq!(warnings, [format!("s[beta.svc.io/os]: {why}"), format!("{key} {why}")]);
        let mut warnings = Vec::new();
        of_term_and_values(Naming::Svc.names(), &root.get("u"), &mut warnings);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("u.matchExpressions[0].values[1]: - is invalid, "));
    }
}
