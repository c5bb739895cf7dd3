//! Deprecated node labels, and the warnings about their use in node selectors.

use quorate_meta::{Names, quoted};

use crate::field::Field;

/// Since when a label is deprecated, and its replacement; `None` for other labels.
pub(crate) fn deprecation(names: &Names, key: &str) -> Option<String> {
    let (domain, name) = key.split_once('/')?;
    let below = domain.strip_suffix(names.domain)?;
    let (since, now) = match (below, name) {
        ("beta.", "arch" | "os") => ("v1.14", names.domain_key(name)),
        ("beta.", "instance-type") => ("v1.17", format!("node.{}", names.domain_key(name))),
        ("failure-domain.beta.", "region" | "zone") => {
            ("v1.17", format!("topology.{}", names.domain_key(name)))
        }
        _ => return None,
    };
    Some(format!("deprecated since {since}; use {} instead", quoted(&now)))
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

/// Warnings about a NodeSelectorTerm.
pub(crate) fn of_term(names: &Names, term: &Field<'_>, warnings: &mut Vec<String>) {
    for expression in term.get("matchExpressions").items() {
        of_key(names, &expression.get("key"), warnings);
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
        for key in
            ["kubernetes.io/arch", "beta.kubernetes.io/zone", "arch", "beta.example.com/os", ""]
        {
            check(Naming::Kubernetes, key, None);
        }
    }

    #[test]
    fn paths_of_warnings() {
        let object = Value::from(json!({"s": {"beta.svc.io/os": "linux", "a": "b"},
            "t": {"matchExpressions": [{"key": "a"}, {"key": "beta.svc.io/os"}]}}));
        let (root, mut warnings) = (Field::root(&object), Vec::new());
        of_selector(Naming::Svc.names(), &root.get("s"), &mut warnings);
        of_term(Naming::Svc.names(), &root.get("t"), &mut warnings);
        let why = "deprecated since v1.14; use \"svc.io/os\" instead";
        let key = "t.matchExpressions[1].key: beta.svc.io/os is";
        assert_eq!(warnings, [format!("s[beta.svc.io/os]: {why}"), format!("{key} {why}")]);
    }
}
