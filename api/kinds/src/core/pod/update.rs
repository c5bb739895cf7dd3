//! Updates of a pod: the mutable fields of its specification and annotations.
//!
//! Everything else is immutable. Resizing (KEP-1287) is not supported here.

use std::collections::HashSet;

use quorate_meta::{Cause, Map, Path, Value};

use super::defaults::CONTAINERS;
use super::scheduling::only_adds_tolerations;
use crate::field::Field;
use quorate_registry::strategy::status::{keep, keep_at};

const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";

/// The path of the node affinity in a specification.
const NODE_AFFINITY: &[&str] = &["affinity", "nodeAffinity"];

/// Checks a change of the specification.
pub(super) fn check(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (Field::root(old).get("spec"), Field::root(new).get("spec"));
    for list in ["containers", "initContainers"] {
        let (had, has) = (before.get(list), after.get(list));
        if had.items().len() != has.items().len() {
            causes
                .push(Cause::forbidden(has.path(), "pod updates may not add or remove containers"));
            return;
        }
    }
    check_deadline(
        &before.get("activeDeadlineSeconds"),
        &after.get("activeDeadlineSeconds"),
        causes,
    );
    if !only_adds_tolerations(before.value(), after.value()) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(after.get("tolerations").forbidden(why));
    }
    check_gates(&before.get("schedulingGates"), &after.get("schedulingGates"), causes);
    if fixed(before.value(), after.value()) != *before.value() {
        causes.push(after.forbidden(WHY));
    }
}

/// The prefix of the annotations with AppArmor profiles of containers.
const APP_ARMOR: &str = "container.apparmor.security.beta.";
/// The suffix of the annotation of mirror pods, which represent static pods of a kubelet.
const MIRROR: &str = "/config.mirror";

/// Checks a change of the annotations: those that admission relied on are immutable.
pub(super) fn check_annotations(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (annotations(old), annotations(new));
    let at = |key: &str| Path::new("metadata.annotations").key(key);
    for (key, value) in before.iter().flat_map(|before| before.iter()) {
        let is_same = after.and_then(|after| after.get(key)) == Some(value);
        if let Some(what) = fixed_annotation(key).filter(|_| !is_same) {
            causes.push(Cause::forbidden(at(key), &format!("may not remove or update {what}")));
        }
    }
    for (key, _) in after.iter().flat_map(|after| after.iter()) {
        let is_known = before.is_some_and(|before| before.contains_key(key));
        if let Some(what) = fixed_annotation(key).filter(|_| !is_known) {
            causes.push(Cause::forbidden(at(key), &format!("may not add {what}")));
        }
    }
}

fn annotations(pod: &Value) -> Option<&Map> {
    pod.at(&["metadata", "annotations"]).and_then(Value::as_map)
}

/// The name of an immutable annotation in messages.
fn fixed_annotation(key: &str) -> Option<&'static str> {
    if key.starts_with(APP_ARMOR) {
        return Some("AppArmor annotations");
    }
    key.ends_with(MIRROR).then_some("mirror pod annotation")
}

/// Checks `activeDeadlineSeconds`: it can be set and lowered, not removed or raised.
fn check_deadline(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    match (before.int(), after.int()) {
        (Some(before), Some(seconds)) if seconds > before => {
            causes.push(after.invalid("must be less than or equal to previous value"));
        }
        (Some(_), None) => {
            causes.push(after.invalid("must not update from a positive integer to nil value"))
        }
        _ => {}
    }
}

/// Checks that scheduling gates are only removed.
fn check_gates(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let known: HashSet<&str> = before.items().map(|gate| gate.get("name").text()).collect();
    if after.items().any(|gate| !known.contains(gate.get("name").text())) {
        causes.push(after.forbidden("only deletion is allowed, but found new scheduling gates"));
    }
}

/// The new specification with all mutable fields restored.
fn fixed(before: &Value, after: &Value) -> Value {
    let mut fixed = after.clone();
    for list in &CONTAINERS[..2] {
        let old = before.get(list).and_then(Value::as_list).unwrap_or_default();
        let new = fixed.get_mut(list).and_then(Value::as_list_mut);
        for (container, old) in new.into_iter().flatten().zip(old) {
            keep("image", old, container);
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        keep(field, before, &mut fixed);
    }
    let negative = before
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0);
    if negative && after.get("terminationGracePeriodSeconds").and_then(Value::as_i64) == Some(1) {
        keep("terminationGracePeriodSeconds", before, &mut fixed);
    }
    if before.get("schedulingGates").is_some_and(|gates| !gates.is_empty()) {
        narrowed(before, &mut fixed);
    }
    fixed
}

/// Restores the node selection of a pod with scheduling gates where it was only narrowed
/// (KEP-3838).
fn narrowed(before: &Value, fixed: &mut Value) {
    let had = before.get("nodeSelector").and_then(Value::as_map).cloned().unwrap_or_default();
    let has = fixed.get("nodeSelector").and_then(Value::as_map).cloned().unwrap_or_default();
    if had.iter().all(|(key, value)| has.get(key) == Some(value)) {
        keep("nodeSelector", before, fixed);
    }
    if before.at(NODE_AFFINITY).is_none_or(Value::is_empty) {
        keep_at(NODE_AFFINITY, before, fixed);
        if before.get("affinity").is_none() && fixed.get("affinity").is_some_and(Value::is_empty) {
            fixed.remove_at(&["affinity"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::json;

    #[test]
    fn annotations_that_stay() {
        let check = |before: serde_json::Value, after: serde_json::Value, expect: &[&str]| {
            let [old, new] =
                [before, after].map(|of| Value::from(json!({"metadata": {"annotations": of}})));
            let mut causes = Vec::new();
            check_annotations(&old, &new, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let profile = "container.apparmor.security.beta.svc.io/c";
        let forbidden = format!("Forbidden metadata.annotations[{profile}]");
        check(json!({profile: "a", "b": "c"}), json!({profile: "a", "b": "d", "e": "f"}), &[]);
        check(json!({profile: "a"}), json!({profile: "b"}), &[&forbidden]);
        check(json!({profile: "a"}), json!(null), &[&forbidden]);
        check(json!({}), json!({profile: "unconfined"}), &[&forbidden]);
        let mirror = "Forbidden metadata.annotations[svc.io/config.mirror]";
        check(json!(null), json!({"svc.io/config.mirror": "x"}), &[mirror]);
    }

    /// A pod's spec is `before`, then the client merges `change` into it.
    fn change(before: serde_json::Value, change: serde_json::Value, expect: &[&str]) {
        let mut old = Value::from(
            json!({"spec": {"containers": [{"name": "c", "image": "a"}], "tolerations": [{"key": "k"}]}}),
        );
        quorate_registry::patch::merge(&mut old, json!({ "spec": before }).into());
        let mut new = old.clone();
        quorate_registry::patch::merge(&mut new, json!({ "spec": change }).into());
        let mut causes = Vec::new();
        check(&old, &new, &mut causes);
        assert_eq!(shown(&causes), expect, "{change}");
    }

    #[test]
    fn fields_of_an_ungated_pod() {
        let none = || json!({});
        change(none(), json!({"containers": [{"name": "c", "image": "b"}]}), &[]);
        change(none(), json!({"containers": [{"name": "d", "image": "a"}]}), &["Forbidden spec"]);
        change(none(), json!({"containers": []}), &["Forbidden spec.containers"]);
        change(none(), json!({"tolerations": []}), &["Forbidden spec.tolerations"]);
        change(none(), json!({"tolerations": [{"key": "k"}, {"key": "l"}]}), &[]);
        change(none(), json!({"nodeSelector": {"a": "b"}}), &["Forbidden spec"]);
    }

    #[test]
    fn seconds() {
        let active = |seconds: serde_json::Value| json!({"activeDeadlineSeconds": seconds});
        let invalid = &["Invalid spec.activeDeadlineSeconds"];
        change(json!({}), active(json!(5)), &[]);
        change(active(json!(5)), active(json!(6)), invalid);
        change(active(json!(5)), active(json!(null)), invalid);
        let grace = |seconds: i64| json!({"terminationGracePeriodSeconds": seconds});
        change(grace(-1), grace(1), &[]);
        change(grace(30), grace(5), &["Forbidden spec"]);
    }

    #[test]
    fn fields_of_a_gated_pod() {
        let gated = || json!({"schedulingGates": [{"name": "g"}]});
        let other = json!({"schedulingGates": [{"name": "h"}]});
        change(gated(), json!({"nodeSelector": {"a": "b"}}), &[]);
        change(gated(), json!({"schedulingGates": []}), &[]);
        change(gated(), other, &["Forbidden spec.schedulingGates"]);
    }

    #[test]
    fn affinities() {
        let gated = || json!({"schedulingGates": [{"name": "g"}]});
        let required = |term: serde_json::Value| json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        let near = || required(json!({"topologyKey": "k", "namespaces": ["b"]}));
        let node = || required(json!({"matchFields": []}));
        let affinity = |of: serde_json::Value| json!({ "affinity": of });
        let to_node = || affinity(json!({"nodeAffinity": node()}));
        let with = |affinity: serde_json::Value| json!({"schedulingGates": [{"name": "g"}], "affinity": affinity});
        let forbidden = &["Forbidden spec"];
        change(gated(), to_node(), &[]);
        change(with(json!({"podAffinity": near()})), to_node(), &[]);
        change(with(json!({"nodeAffinity": {}})), affinity(json!(null)), &[]);
        change(with(json!({})), to_node(), &[]);
        change(json!({}), to_node(), forbidden);
        for pods in [
            json!({"podAffinity": near()}),
            json!({"podAntiAffinity": near(), "nodeAffinity": node()}),
        ] {
            change(gated(), affinity(pods), forbidden);
        }
        change(with(json!({"podAntiAffinity": near()})), affinity(json!(null)), forbidden);
        change(with(json!({"nodeAffinity": node()})), affinity(json!(null)), forbidden);
    }
}
