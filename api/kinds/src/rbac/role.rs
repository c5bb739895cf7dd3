//! Role and ClusterRole: policy rules, and the aggregation rule of a ClusterRole.
//!
//! Invariant: a role without rules has `rules: null`. Whether a client may grant the rules is
//! decided by the authorizer in `quorate_access`.

use quorate_meta::{Cause, Map, Names, Path, Value, name};

use super::differs;
use quorate_registry::{Grant, NameRule, Part, Strategy, selector};

/// The strategy of Role and ClusterRole.
#[derive(Debug)]
pub(super) struct Role {
    /// Whether the kind is namespaced.
    pub(super) namespaced: bool,
}

impl Strategy for Role {
    fn has_declared_rules(&self) -> bool {
        !self.namespaced
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        no_rules_are_null(object);
    }

    fn prepare_update(&self, _: &Names, _: Part, _: &Value, new: &mut Value) {
        no_rules_are_null(new);
    }

    fn grant(&self, old: Option<&Value>, new: &Value) -> Option<Grant> {
        // Labels grant too: a ClusterRole with an aggregation rule selects roles by their labels.
        if old.is_some_and(|old| !differs(old, new)) {
            return None;
        }
        let aggregates =
            |object: &Value| object.get("aggregationRule").is_some_and(|rule| !rule.is_null());
        let rules = list(new, "rules").to_vec();
        Some(Grant::Rules {
            rules,
            aggregates: aggregates(new) || old.is_some_and(aggregates),
            exists: old.is_some(),
        })
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        for (index, rule) in list(object, "rules").iter().enumerate() {
            self.check_rule(rule, &Path::new("rules").index(index), &mut causes);
        }
        if let Some(aggregation) = object.get("aggregationRule").filter(|rule| !rule.is_null()) {
            check_aggregation(aggregation, &mut causes);
        }
        causes
    }
}

impl Role {
    fn check_rule(&self, rule: &Value, path: &Path, causes: &mut Vec<Cause>) {
        let is_empty = |field: &str| list(rule, field).is_empty();
        if is_empty("verbs") {
            causes.push(Cause::required(
                path.child("verbs"),
                "verbs must contain at least one value",
            ));
        }
        if !is_empty("nonResourceURLs") {
            let mut refuse = |why: &str| {
                let urls = Value::List(list(rule, "nonResourceURLs").to_vec());
                causes.push(Cause::invalid(path.child("nonResourceURLs"), urls, why));
            };
            if self.namespaced {
                refuse("namespaced rules cannot apply to non-resource URLs");
            }
            if !["apiGroups", "resources", "resourceNames"].into_iter().all(is_empty) {
                refuse("rules cannot apply to both regular resources and non-resource URLs");
            }
            return;
        }
        if is_empty("apiGroups") {
            causes.push(Cause::required(
                path.child("apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if is_empty("resources") {
            causes.push(Cause::required(
                path.child("resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

fn check_aggregation(aggregation: &Value, causes: &mut Vec<Cause>) {
    let path = Path::new("aggregationRule").child("clusterRoleSelectors");
    let selectors = list(aggregation, "clusterRoleSelectors");
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required(&path, why));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        check_selector(selector, &path, causes);
        if selector::of(selector).is_err() {
            causes.push(Cause::invalid(&path, selector.clone(), "invalid label selector."));
        }
    }
}

fn check_selector(selector: &Value, path: &Path, causes: &mut Vec<Cause>) {
    let labels =
        selector.get("matchLabels").and_then(Value::as_map).into_iter().flat_map(Map::iter);
    let labels = labels.map(|(key, value)| (key, value.as_str().unwrap_or_default()));
    causes.extend(name::labels(&path.child("matchLabels"), labels));
    for (index, term) in list(selector, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let (key, values) = (term.str_at(&["key"]).unwrap_or_default(), list(term, "values"));
        match term.str_at(&["operator"]).unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(path.child("values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(path.child("values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => causes.push(Cause::invalid(
                path.child("operator"),
                other,
                "not a valid selector operator",
            )),
        }
        causes.extend(name::object_name(&path.child("key"), key, name::qualified_name));
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            causes.extend(name::object_name(
                &path.child("values").index(index),
                value,
                name::label_value,
            ));
        }
    }
}

fn no_rules_are_null(object: &mut Value) {
    if list(object, "rules").is_empty() {
        object.set_at(&["rules"], Value::Null);
    }
}

fn list<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object.get(field).and_then(Value::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[track_caller]
    fn check(namespaced: bool, object: serde_json::Value, expect: &[&str]) {
        let causes = Role { namespaced }.validate(Naming::Svc.names(), &object.into());
        let shown: Vec<_> = causes
            .iter()
            .map(|cause| format!("{} {}", cause.reason.as_str(), cause.field))
            .collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_rule_is_about_resources_or_paths() {
        let check = |namespaced: bool, rule: serde_json::Value, expect: &[&str]| {
            check(namespaced, json!({"rules": [rule]}), expect);
        };
        let pods = || json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        check(true, pods(), &[]);
        let all = ["verbs", "apiGroups", "resources"]
            .map(|field| format!("FieldValueRequired rules[0].{field}"));
        check(true, json!({}), &all.each_ref().map(String::as_str));
        let wrong = "FieldValueInvalid rules[0].nonResourceURLs";
        check(false, json!({"verbs": ["get"], "nonResourceURLs": ["/a"]}), &[]);
        check(true, json!({"verbs": ["get"], "nonResourceURLs": ["/a"]}), &[wrong]);
        check(
            false,
            json!({"verbs": ["get"], "nonResourceURLs": ["/a"], "resourceNames": ["x"]}),
            &[wrong],
        );
        check(
            true,
            json!({"verbs": ["get"], "nonResourceURLs": ["/a"], "apiGroups": [""]}),
            &[wrong, wrong],
        );
    }

    #[test]
    fn an_aggregation_has_selectors() {
        let check = |selectors: serde_json::Value, expect: &[&str]| {
            check(false, json!({"aggregationRule": {"clusterRoleSelectors": selectors}}), expect);
        };
        let path = "aggregationRule.clusterRoleSelectors";
        check(json!([{"matchLabels": {"a": "b"}}, {}]), &[]);
        check(json!(null), &[&format!("FieldValueRequired {path}")]);
        let whole = format!("FieldValueInvalid {path}[0]");
        let bad = |fields: &str, reason: &str| format!("FieldValue{reason} {path}[0].{fields}");
        check(json!([{"matchLabels": {"a!": "b"}}]), &[&bad("matchLabels", "Invalid"), &whole]);
        let term = |operator: &str, values: &[&str]| json!([{"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}]);
        check(term("In", &[]), &[&bad("matchExpressions[0].values", "Required"), &whole]);
        check(term("Exists", &["x"]), &[&bad("matchExpressions[0].values", "Forbidden"), &whole]);
        check(term("Near", &[]), &[&bad("matchExpressions[0].operator", "Invalid"), &whole]);
    }

    #[test]
    fn every_change_grants_all_rules_of_the_role() {
        let check =
            |old: serde_json::Value, new: serde_json::Value, expect: Option<(usize, bool)>| {
                let grant = Role { namespaced: false }
                    .grant(Some(&old.clone().into()), &new.clone().into());
                let found = grant.map(|grant| match grant {
                    Grant::Rules { rules, aggregates, exists: true } => (rules.len(), aggregates),
                    other => panic!("{other:?}"),
                });
                assert_eq!(found, expect, "{old} {new}");
            };
        let role = |metadata: serde_json::Value, aggregation: bool| {
            let rule =
                if aggregation { json!({"clusterRoleSelectors": [{}]}) } else { json!(null) };
            json!({"metadata": metadata, "rules": [{"verbs": ["*"]}], "aggregationRule": rule})
        };
        let plain = || role(json!({"resourceVersion": "1"}), false);
        check(plain(), plain(), None);
        check(
            plain(),
            role(
                json!({"resourceVersion": "2", "finalizers": ["a/b"], "ownerReferences": []}),
                false,
            ),
            None,
        );
        check(
            plain(),
            role(json!({"labels": {"aggregate-to-edit": "true"}}), false),
            Some((1, false)),
        );
        check(plain(), role(json!({"annotations": {"a": "b"}}), false), Some((1, false)));
        check(plain(), role(json!({"resourceVersion": "1"}), true), Some((1, true)));
        check(role(json!({}), true), role(json!({"labels": {"a": "b"}}), true), Some((1, true)));
        check(role(json!({}), true), role(json!({}), false), Some((1, true)));
    }

    #[test]
    fn no_rules_are_null_however_they_are_written() {
        for rules in [json!([]), json!(null)] {
            let mut object = Value::from(json!({"rules": rules}));
            Role { namespaced: true }.prepare_create(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"rules": null}).into());
        }
    }
}
