//! ResourceQuota: limits of the resources and objects of a namespace.
//!
//! Usage is charged by the ResourceQuota admission plugin and recomputed by the quota controller.

use std::collections::{BTreeSet, HashSet};

use quorate_meta::{Cause, Names, Value, name};

use super::pod::check_amount;
use crate::field::Field;
use crate::rules;
use quorate_registry::strategy::status;
use quorate_registry::{Part, Strategy};

/// Resource names of pods, for most of which a quota may have scopes.
const COMPUTE: [&str; 9] = [
    "pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
    "hugepages-",
];
/// The other resources without a domain.
const OTHER: [&str; 12] = [
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.storage",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    "requests.hugepages-",
];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// The strategy of ResourceQuota.
#[derive(Debug)]
pub(super) struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn checks_structure(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        if part == Part::Main {
            drop_usage(old, new);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        check_amounts(names, &spec.get("hard"), &mut causes);
        check_scopes(&spec, &mut causes);
        check_scope_selector(&spec, &mut causes);
        causes
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        if part == Part::Status {
            check_amounts(names, &new.get("status.hard"), &mut causes);
            check_amounts(names, &new.get("status.used"), &mut causes);
            return causes;
        }
        let scopes = |object: &Field<'_>| -> HashSet<String> {
            object.get("spec.scopes").items().map(|scope| scope.text().to_owned()).collect()
        };
        if scopes(&old) != scopes(&new) {
            causes.push(new.get("spec.scopes").invalid(rules::IMMUTABLE));
        }
        causes
    }
}

/// Removes the usage of resources that the quota no longer limits, and all usage when its scopes
/// change: no controller keeps these numbers up to date.
fn drop_usage(old: &Value, new: &mut Value) {
    let chooses_others = ["scopes", "scopeSelector"]
        .into_iter()
        .any(|field| not_empty(old, field) != not_empty(new, field));
    let limited = new.at(&["spec", "hard"]).and_then(Value::as_map).cloned().unwrap_or_default();
    let Some(used) = new.at_mut(&["status", "used"]).and_then(Value::as_map_mut) else {
        return;
    };
    used.retain(|name, _| !chooses_others && limited.contains_key(name));
    if used.is_empty() {
        new.remove_at(&["status", "used"]);
    }
}

/// A field of the specification that is not empty.
fn not_empty<'v>(quota: &'v Value, field: &str) -> Option<&'v Value> {
    quota.at(&["spec", field]).filter(|value| !value.is_empty())
}

fn check_amounts(names: &Names, amounts: &Field<'_>, causes: &mut Vec<Cause>) {
    for (resource, amount) in amounts.entries() {
        let wrong = name::qualified_name(resource);
        causes.extend(wrong.iter().map(|why| Cause::invalid(amount.path(), resource, why)));
        let pages =
            ["hugepages-", "requests.hugepages-"].iter().any(|prefix| resource.starts_with(prefix));
        let known = resource.contains('/')
            || COMPUTE.contains(&resource)
            || OTHER.contains(&resource)
            || pages;
        if wrong.is_empty() && !known {
            let why = "must be a standard resource type or fully qualified";
            causes.push(Cause::invalid(amount.path(), resource, why));
        }
        check_amount(names, resource, &amount, causes);
    }
}

/// Checks scopes: known, applicable to every resource, without contradictions. Each field error
/// shows the whole list, so a repeated scope is checked once, and no more scopes than there are.
fn check_scopes(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let field = spec.get("scopes");
    let scopes: BTreeSet<&str> = field.items().map(|scope| scope.text()).collect();
    for scope in scopes.iter().take(SCOPES.len()) {
        if !SCOPES.contains(scope) {
            causes.push(field.invalid("unsupported scope"));
        }
        for (resource, _) in spec.get("hard").entries() {
            if !scope_applies(scope, resource) {
                causes.push(field.invalid("unsupported scope applied to resource"));
                break;
            }
        }
    }
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            causes.push(field.invalid("conflicting scopes"));
        }
    }
}

/// Whether a scope applies to a resource; true for unknown scopes, which are reported elsewhere.
fn scope_applies(scope: &str, resource: &str) -> bool {
    let compute = COMPUTE.contains(&resource)
        || resource.starts_with("hugepages-")
        || matches!(
            resource,
            "requests.ephemeral-storage" | "limits.ephemeral-storage" | "count/pods"
        );
    match scope {
        "BestEffort" => matches!(resource, "pods" | "count/pods"),
        "NotBestEffort"
        | "Terminating"
        | "NotTerminating"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => compute,
        "VolumeAttributesClass" => {
            resource == "persistentvolumeclaims" || resource == "requests.storage"
        }
        _ => true,
    }
}

fn check_scope_selector(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    for term in spec.get("scopeSelector.matchExpressions").items() {
        let (scope, operator, values) =
            (term.get("scopeName"), term.get("operator"), term.get("values"));
        if !SCOPES.contains(&scope.text()) {
            causes.push(scope.invalid("unsupported scope"));
        }
        let only_there = matches!(
            scope.text(),
            "BestEffort"
                | "NotBestEffort"
                | "Terminating"
                | "NotTerminating"
                | "CrossNamespacePodAffinity"
        );
        if only_there && operator.text() != "Exists" {
            let why = "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                       ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                       ResourceQuotaScopeCrossNamespacePodAffinity";
            causes.push(operator.invalid(why));
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                causes.push(
                    values.required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                causes.push(
                    values.invalid("must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"),
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => causes.push(operator.invalid("not a valid selector operator")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn usage_of_other_objects_is_dropped() {
        let check = |before: serde_json::Value,
                     after: serde_json::Value,
                     expect: serde_json::Value| {
            let status = json!({"hard": {"pods": "9", "secrets": "9"}, "used": {"pods": "1", "secrets": "2"}});
            let old = Value::from(json!({"spec": before, "status": status}));
            let mut new = Value::from(json!({"spec": after, "status": {"used": {"pods": "7"}}}));
            ResourceQuota.prepare_update(Naming::Svc.names(), Part::Main, &old, &mut new);
            let expect = Some(Value::from(expect)).filter(|used| !used.is_null());
            assert_eq!(new.at(&["status", "used"]), expect.as_ref());
            assert_eq!(
                new.at(&["status", "hard"]),
                old.at(&["status", "hard"]),
                "the reported limits are not changed"
            );
        };
        let both = || json!({"pods": "9", "secrets": "9"});
        let used = json!({"pods": "1", "secrets": "2"});
        check(json!({"hard": both()}), json!({"hard": both()}), used.clone());
        check(
            json!({"hard": both()}),
            json!({"hard": {"pods": "5", "secrets": "1", "cpu": "1"}}),
            used.clone(),
        );
        check(
            json!({"hard": both()}),
            json!({"hard": {"pods": "5", "cpu": "1"}}),
            json!({"pods": "1"}),
        );
        check(json!({"hard": both()}), json!({"hard": {"cpu": "1"}}), json!(null));
        check(json!({"hard": both()}), json!({}), json!(null));
        let of = |classes: &[&str]| {
            let term = json!({"scopeName": "PriorityClass", "operator": "In", "values": classes});
            json!({"hard": both(), "scopeSelector": {"matchExpressions": [term]}})
        };
        check(of(&["a"]), of(&["a"]), used.clone());
        check(of(&["a"]), of(&["b"]), json!(null));
        check(json!({"hard": both()}), of(&["b"]), json!(null));
        check(
            json!({"hard": both(), "scopes": ["BestEffort"]}),
            json!({"hard": both()}),
            json!(null),
        );
        check(json!({"hard": both(), "scopes": []}), json!({"hard": both()}), used);
        let mut new = Value::from(json!({"status": {"used": {"pods": "3"}}}));
        let old = Value::from(json!({"spec": {"hard": both()}}));
        ResourceQuota.prepare_update(Naming::Svc.names(), Part::Status, &old, &mut new);
        assert_eq!(
            new.str_at(&["status", "used", "pods"]),
            Some("3"),
            "who writes the status knows it"
        );
    }

    #[test]
    fn quotas() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let causes =
                ResourceQuota.validate(Naming::Svc.names(), &json!({ "spec": spec }).into());
            assert_eq!(shown(&causes), expect);
        };
        check(
            json!({"hard": {"pods": "10", "count/deployments.apps": "3", "limits.cpu": "2", "requests.storage": "1Ti"}}),
            &[],
        );
        check(json!({"hard": {"gpus": "1"}}), &["Invalid spec.hard[gpus]"]);
        check(json!({"hard": {"pods": "-1"}}), &["Invalid spec.hard[pods]"]);
        check(json!({"hard": {"pods": "500m"}}), &["Invalid spec.hard[pods]"]);
        check(json!({"hard": {"pods": "1"}, "scopes": ["Maybe"]}), &["Invalid spec.scopes"]);
        check(
            json!({"hard": {"secrets": "1"}, "scopes": ["BestEffort"]}),
            &["Invalid spec.scopes"],
        );
        check(
            json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}),
            &["Invalid spec.scopes"],
        );
        let term = |scope: &str, operator: &str, values: &[&str]| json!({"scopeSelector": {"matchExpressions": [{"scopeName": scope, "operator": operator, "values": values}]}});
        check(term("PriorityClass", "In", &["x"]), &[]);
        check(
            term("PriorityClass", "Exists", &["x"]),
            &["Invalid spec.scopeSelector.matchExpressions[0].values"],
        );
        check(
            term("BestEffort", "In", &["x"]),
            &["Invalid spec.scopeSelector.matchExpressions[0].operator"],
        );
    }
}
