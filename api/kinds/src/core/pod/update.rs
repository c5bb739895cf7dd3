//! Updates of a pod: the mutable fields of its specification.
//!
//! Everything else is immutable. Its annotations are in `pod_annotations`, the resources of its
//! containers in `resize`.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};

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
/// The path of the terms that a node must match.
const REQUIRED_TERMS: &str =
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

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
    if !before.get("schedulingGates").is_empty() {
        check_narrowing(&before, &after, causes);
    }
    if fixed(before.value(), after.value()) != *before.value() {
        causes.push(after.forbidden(WHY));
    }
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

/// Checks that a pod with scheduling gates (KEP-3838) has its node selection only narrowed.
fn check_narrowing(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let (had, has) = (before.get("nodeSelector"), after.get("nodeSelector"));
    let stays = |(key, value): (&str, Field<'_>)| has.value().get(key) == Some(value.value());
    if !had.entries().all(stays) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        causes.push(has.invalid(why));
    }
    let (had, has) = (before.get(REQUIRED_TERMS), after.get(REQUIRED_TERMS));
    let (old, new) = (had.items(), has.items());
    if old.len() == 0 {
        return;
    }
    if old.len() != new.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        causes.push(has.invalid(why));
        return;
    }
    for (_, term) in had.items().zip(has.items()).filter(|(old, new)| !only_adds(old, new)) {
        causes.push(term.invalid("only additions are allowed (no mutations or deletions)"));
    }
}

/// Whether a term has all of its requirements still, in order. An empty one matches nothing, so that
/// any requirement would widen it.
fn only_adds(old: &Field<'_>, new: &Field<'_>) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    if lists.iter().all(|list| old.get(list).is_empty()) {
        return lists.iter().all(|list| new.get(list).is_empty());
    }
    lists.iter().all(|list| {
        let all = |term: &Field<'_>| term.get(list).value().as_list().unwrap_or_default().to_vec();
        all(new).starts_with(&all(old))
    })
}

/// Restores the node selection of a pod with scheduling gates, which [`check_narrowing`] checks.
fn narrowed(before: &Value, fixed: &mut Value) {
    keep("nodeSelector", before, fixed);
    keep_at(NODE_AFFINITY, before, fixed);
    let unset = before.get("affinity").is_none_or(Value::is_null);
    if unset && fixed.get("affinity").is_some_and(Value::is_empty) {
        fixed.remove_at(&["affinity"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::json;

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
        let selected = json!({"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}});
        change(selected.clone(), json!({"nodeSelector": {"c": "d"}}), &[]);
        for selector in [json!({"a": "c"}), json!(null)] {
            let at = &["Invalid spec.nodeSelector"];
            change(selected.clone(), json!({"nodeSelector": selector}), at);
        }
        change(gated(), json!({"schedulingGates": []}), &[]);
        change(gated(), other, &["Forbidden spec.schedulingGates"]);
    }

    #[test]
    fn affinities() {
        let gated = || json!({"schedulingGates": [{"name": "g"}]});
        let near =
            || json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k"}]});
        let node = |terms: serde_json::Value| json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let affinity = |of: serde_json::Value| json!({ "affinity": of });
        let to_node = |terms: serde_json::Value| affinity(json!({"nodeAffinity": node(terms)}));
        let with = |affinity: serde_json::Value| json!({"schedulingGates": [{"name": "g"}], "affinity": affinity});
        let (one, two) = (json!({"key": "a"}), json!({"key": "b"}));
        let term = |expressions: &[&serde_json::Value]| json!({ "matchExpressions": expressions });
        let of_one = || json!([term(&[&one])]);
        change(gated(), to_node(of_one()), &[]);
        change(with(json!({"podAffinity": near()})), to_node(of_one()), &[]);
        change(with(json!({"nodeAffinity": {}})), affinity(json!(null)), &[]);
        change(with(json!({})), to_node(of_one()), &[]);
        change(json!({}), to_node(of_one()), &["Forbidden spec"]);
        for pods in [json!({"podAffinity": near()}), json!({"podAntiAffinity": near()})] {
            change(gated(), affinity(pods), &["Forbidden spec"]);
        }
        change(
            with(json!({"podAntiAffinity": near()})),
            affinity(json!(null)),
            &["Forbidden spec"],
        );

        let old = || with(json!({"nodeAffinity": node(of_one())}));
        let terms = format!("Invalid spec.{REQUIRED_TERMS}");
        let first = format!("Invalid spec.{REQUIRED_TERMS}[0]");
        change(old(), to_node(json!([term(&[&one, &two])])), &[]);
        change(old(), to_node(json!([term(&[&two, &one])])), &[&first]);
        change(old(), to_node(json!([term(&[&two])])), &[&first]);
        change(old(), to_node(json!([term(&[&one]), term(&[&two])])), &[&terms]);
        change(old(), affinity(json!(null)), &[&terms]);
        let empty = with(json!({"nodeAffinity": node(json!([{}]))}));
        change(empty, to_node(of_one()), &[&first]);
        let preferred = |weight: i64| json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight}]}});
        change(with(preferred(1)), affinity(preferred(2)), &[]);
    }
}
