//! Label keys of scheduling rules (KEP-3243, KEP-3633): at the creation of a pod their values are
//! taken from its labels into the selectors that they belong to.
//!
//! Invariants: keys that the pod does not have, and rules without a selector, change nothing. A
//! template keeps its rules as they are.

use quorate_meta::{Map, Value};

/// Where the terms of affinity and anti-affinity are, below either; preferred ones have a weight.
const TERMS: [(&str, bool); 2] = [
    ("requiredDuringSchedulingIgnoredDuringExecution", false),
    ("preferredDuringSchedulingIgnoredDuringExecution", true),
];

/// Puts the values of label keys into the selectors of a pod's rules.
pub(super) fn merge(pod: &mut Value) {
    let labels = pod.at(&["metadata", "labels"]).and_then(Value::as_map).cloned();
    let (Some(labels), Some(spec)) = (labels, pod.get_mut("spec")) else {
        return;
    };
    for constraint in items(spec, &["topologySpreadConstraints"]) {
        merge_rule(constraint, &labels);
    }
    for affinity in ["podAffinity", "podAntiAffinity"] {
        for (terms, weighted) in TERMS {
            for term in items(spec, &["affinity", affinity, terms]) {
                let rule = if weighted { term.get_mut("podAffinityTerm") } else { Some(term) };
                rule.into_iter().for_each(|rule| merge_rule(rule, &labels));
            }
        }
    }
}

fn items<'v>(value: &'v mut Value, path: &[&str]) -> impl Iterator<Item = &'v mut Value> {
    let list = path.iter().try_fold(value, |value, field| value.get_mut(field));
    list.and_then(Value::as_list_mut).into_iter().flatten()
}

fn merge_rule(rule: &mut Value, labels: &Map) {
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = rule.get(field).and_then(Value::as_list).unwrap_or_default();
        for key in keys.iter().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(Value::Map(Map::from([
                    ("key", Value::from(key)),
                    ("operator", operator.into()),
                    ("values", Value::List(vec![value.clone()])),
                ])));
            }
        }
    }
    let Some(Value::Map(selector)) = rule.get_mut("labelSelector") else {
        return;
    };
    if added.is_empty() {
        return;
    }
    match selector.get_mut("matchExpressions") {
        Some(Value::List(expressions)) => expressions.append(&mut added),
        _ => drop(selector.insert("matchExpressions", Value::List(added))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_come_from_the_pod() {
        let check = |rule: serde_json::Value, expect: serde_json::Value| {
            let term = json!([{"weight": 1, "podAffinityTerm": rule}]);
            for (path, rules) in [
                (&["topologySpreadConstraints"][..], json!([rule])),
                (&["affinity", "podAffinity", TERMS[0].0], json!([rule])),
                (&["affinity", "podAntiAffinity", TERMS[1].0], term),
            ] {
                let labels = json!({"hash": "abc", "app": "a"});
                let mut pod = Value::from(json!({"metadata": {"labels": labels}, "spec": {}}));
                let path: Vec<&str> = ["spec"].iter().chain(path).copied().collect();
                pod.set_at(&path, Value::from(rules));
                merge(&mut pod);
                let merged = pod.at(&path).and_then(Value::as_list).unwrap()[0].clone();
                let merged = merged.get("podAffinityTerm").cloned().unwrap_or(merged);
                assert_eq!(merged.get("labelSelector"), Some(&expect.clone().into()), "{path:?}");
            }
        };
        let app = json!({"app": "a"});
        let own = |operator: &str| json!({"key": "hash", "operator": operator, "values": ["abc"]});
        check(
            json!({"labelSelector": {"matchLabels": app}, "matchLabelKeys": ["none", "hash"]}),
            json!({"matchLabels": app, "matchExpressions": [own("In")]}),
        );
        let before = json!({"key": "x", "operator": "Exists"});
        check(
            json!({"labelSelector": {"matchExpressions": [before]}, "mismatchLabelKeys": ["hash"]}),
            json!({"matchExpressions": [before, own("NotIn")]}),
        );
        check(
            json!({"labelSelector": {"matchLabels": app}, "matchLabelKeys": ["none"]}),
            json!({"matchLabels": app}),
        );
    }

    #[test]
    fn a_rule_without_a_selector_stays_without() {
        let spec = json!({"topologySpreadConstraints": [{"matchLabelKeys": ["a"]}]});
        let pod = Value::from(json!({"metadata": {"labels": {"a": "b"}}, "spec": spec}));
        let mut merged = pod.clone();
        merge(&mut merged);
        assert_eq!(merged, pod);
    }
}
