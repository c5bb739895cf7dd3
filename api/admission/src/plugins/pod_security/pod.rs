//! Pods and pod templates as the Pod Security checks read them, and the words for violations.
//!
//! Invariants: a field that is `null` is absent; containers come in the order of [`CONTAINERS`],
//! which is that of messages.

use std::collections::BTreeSet;

use quorate_meta::{Names, Value};

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

static ABSENT: Value = Value::Null;

/// A pod or a pod template.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pod<'v> {
    names: &'static Names,
    annotations: &'v Value,
    /// The specification; `null` when it is absent.
    pub(super) spec: &'v Value,
}

impl<'v> Pod<'v> {
    /// Reads a pod or a pod template.
    pub(super) fn new(names: &'static Names, object: &'v Value) -> Self {
        let annotations = object.at(&["metadata", "annotations"]).unwrap_or(&ABSENT);
        Self { names, annotations, spec: object.get("spec").unwrap_or(&ABSENT) }
    }

    /// The domain of the system's annotations.
    pub(super) fn domain(&self) -> &'static str {
        self.names.domain
    }

    /// The annotations.
    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        let annotations = self.annotations.as_map().into_iter().flat_map(|map| map.iter());
        annotations.filter_map(|(key, value)| Some((key, value.as_str()?)))
    }

    /// One of the annotations.
    pub(super) fn annotation(&self, key: &str) -> Option<&'v str> {
        self.annotations.get(key)?.as_str()
    }

    /// The containers, init containers and ephemeral containers.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'v Value> + use<'v> {
        let spec = self.spec;
        CONTAINERS.into_iter().flat_map(move |list| items(spec, &[list]))
    }

    /// The names of the containers for which a predicate holds.
    pub(super) fn containers_that(&self, holds: impl Fn(&Value) -> bool) -> Vec<&'v str> {
        self.containers().filter(|container| holds(container)).map(name).collect()
    }
}

/// Whether the pod is for Windows (`spec.os.name`), where fields of Linux need not be set.
pub(super) fn is_of_windows(pod: &Pod<'_>) -> bool {
    pod.spec.str_at(&["os", "name"]) == Some("windows")
}

/// Whether the pod has a user namespace of its own (`hostUsers: false`, KEP-127).
pub(super) fn has_its_own_users(pod: &Pod<'_>) -> bool {
    pod.spec.get("hostUsers").and_then(Value::as_bool) == Some(false)
}

/// The name of a container or a volume.
pub(super) fn name(item: &Value) -> &str {
    item.str_at(&["name"]).unwrap_or_default()
}

/// A field that is set.
pub(super) fn field<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    value.at(path).filter(|value| !value.is_null())
}

/// A field of the security context of a container, or of the pod when `owner` is the specification.
pub(super) fn context<'v>(owner: &'v Value, path: &[&str]) -> Option<&'v Value> {
    field(owner.get("securityContext")?, path)
}

/// The same, when it is a boolean.
pub(super) fn flag(owner: &Value, path: &[&str]) -> Option<bool> {
    context(owner, path)?.as_bool()
}

/// The items of a list; none when it is absent.
pub(super) fn items<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    value.at(path).and_then(Value::as_list).unwrap_or_default()
}

/// The pod and containers that violate a check, and their values.
#[derive(Debug)]
pub(super) struct Found<'v, T> {
    pod: bool,
    /// The names of the containers that violate it.
    pub(super) containers: Vec<&'v str>,
    /// The values that violate it.
    pub(super) what: BTreeSet<T>,
}

impl<'v, T: Ord> Found<'v, T> {
    /// The violations of containers.
    pub(super) fn in_containers(pod: &Pod<'v>, look: impl Fn(&'v Value) -> Vec<T>) -> Self {
        let mut found = Self { pod: false, containers: Vec::new(), what: BTreeSet::new() };
        for container in pod.containers() {
            let what = look(container);
            if !what.is_empty() {
                found.containers.push(name(container));
                found.what.extend(what);
            }
        }
        found
    }

    /// The violations of containers and of the pod as a whole: `look` gets its specification, too.
    pub(super) fn anywhere(pod: &Pod<'v>, look: impl Fn(&'v Value) -> Vec<T>) -> Self {
        let mut found = Self::in_containers(pod, &look);
        let what = look(pod.spec);
        found.pod = !what.is_empty();
        found.what.extend(what);
        found
    }

    /// The pod and containers in words; empty when there are none.
    pub(super) fn who(&self) -> String {
        who(self.pod, &self.containers)
    }
}

/// `pod and containers "a", "b"`; empty when there are none.
pub(super) fn who(pod: bool, containers: &[&str]) -> String {
    let names = || {
        format!(
            "{} {}",
            plural(containers.len(), "container", "containers"),
            listed(containers.to_vec())
        )
    };
    match (pod, containers) {
        (true, []) => "pod".to_owned(),
        (true, _) => format!("pod and {}", names()),
        (false, []) => String::new(),
        (false, _) => names(),
    }
}

/// `"a", "b"`.
pub(super) fn listed<'t>(items: impl IntoIterator<Item = &'t str>) -> String {
    let items: Vec<&str> = items.into_iter().collect();
    format!("\"{}\"", items.join("\", \""))
}

/// The singular for a count of one, else the plural.
pub(super) fn plural<'t>(count: usize, one: &'t str, many: &'t str) -> &'t str {
    if count == 1 { one } else { many }
}

#[cfg(test)]
pub(super) mod testing {
    use quorate_meta::{Naming, Value};

    use super::Pod;
    use crate::plugins::pod_security::checks::Violation;

    /// The violation of a rule by a pod.
    pub(in crate::plugins::pod_security) fn said(
        rule: fn(&Pod<'_>) -> Option<Violation>,
        object: serde_json::Value,
    ) -> Option<(&'static str, String)> {
        let object = Value::from(object);
        rule(&Pod::new(Naming::Svc.names(), &object))
            .map(|violation| (violation.reason, violation.detail))
    }

    /// Checks that a rule forbids a specification for this reason, with these details; with an
    /// empty reason, that it admits it.
    #[track_caller]
    pub(in crate::plugins::pod_security) fn check(
        rule: fn(&Pod<'_>) -> Option<Violation>,
        spec: serde_json::Value,
        reason: &str,
        detail: &str,
    ) {
        let (found, found_detail) =
            said(rule, serde_json::json!({ "spec": spec })).unwrap_or_default();
        assert_eq!((found, found_detail.as_str()), (reason, detail), "{spec}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn parts_of_a_pod() {
        let object = Value::from(
            json!({"metadata": {"annotations": {"a": "b"}}, "spec": {"hostUsers": false,
            "os": {"name": "windows"}, "containers": [{"name": "c", "securityContext": {"privileged": true}}],
            "initContainers": [{"name": "i", "securityContext": null}], "ephemeralContainers": [{"name": "e"}]}}),
        );
        let pod = Pod::new(Naming::Svc.names(), &object);
        assert_eq!(pod.containers().map(name).collect::<Vec<_>>(), ["i", "c", "e"]);
        assert_eq!(
            pod.containers_that(|container| flag(container, &["privileged"]) == Some(true)),
            ["c"]
        );
        assert_eq!(
            (pod.annotation("a"), pod.annotations().count(), pod.domain()),
            (Some("b"), 1, "svc.io")
        );
        assert!(is_of_windows(&pod) && has_its_own_users(&pod));
        let nothing = Value::Null;
        let pod = Pod::new(Naming::Svc.names(), &nothing);
        assert_eq!((pod.containers().count(), pod.annotations().count()), (0, 0));
        assert!(!is_of_windows(&pod) && !has_its_own_users(&pod));
    }

    #[test]
    fn words() {
        let check =
            |pod: bool, containers: &[&str], expect: &str| assert_eq!(who(pod, containers), expect);
        check(false, &[], "");
        check(true, &[], "pod");
        check(false, &["a"], r#"container "a""#);
        check(false, &["a", "b"], r#"containers "a", "b""#);
        check(true, &["a", "b"], r#"pod and containers "a", "b""#);
    }

    fn look(owner: &Value) -> Vec<&str> {
        owner.str_at(&["k"]).into_iter().collect()
    }

    #[test]
    fn who_does_something() {
        let object = Value::from(
            json!({"spec": {"k": "x", "containers": [{"name": "a", "k": "z"}, {"name": "b"}]}}),
        );
        let pod = Pod::new(Naming::Svc.names(), &object);
        let found = Found::anywhere(&pod, look);
        assert_eq!(
            (found.who().as_str(), listed(found.what)),
            (r#"pod and container "a""#, r#""x", "z""#.to_owned())
        );
        let found = Found::in_containers(&pod, look);
        assert_eq!(
            (found.who().as_str(), listed(found.what)),
            (r#"container "a""#, r#""z""#.to_owned())
        );
    }
}
