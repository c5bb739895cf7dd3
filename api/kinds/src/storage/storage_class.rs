//! StorageClass: the provisioner of volumes and its parameters.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value, name};
use quorate_wire::json;

use super::volume_attributes_class::check_parameters;
use crate::core::pod::node_labels;
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The strategy of StorageClass.
#[derive(Debug)]
pub(super) struct StorageClass;

impl Strategy for StorageClass {
    fn has_declared_rules(&self) -> bool {
        true
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        let provisioner = object.get("provisioner");
        rules::name(&provisioner, |text| name::qualified_name(&text.to_lowercase()), &mut causes);
        check_parameters(&object.get("parameters"), &mut causes);
        rules::one_of(&object.get("reclaimPolicy"), &["Delete", "Retain"], &mut causes);
        rules::one_of(
            &object.get("volumeBindingMode"),
            &["Immediate", "WaitForFirstConsumer"],
            &mut causes,
        );
        let mut terms = HashSet::new();
        for term in object.get("allowedTopologies").items() {
            check_topology(&term, &mut causes);
            if !terms.insert(json::to_vec(term.value())) {
                causes.push(Cause::duplicate(term.path(), ""));
            }
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings = Vec::new();
        for term in Field::root(new).get("allowedTopologies").items() {
            for expression in term.get("matchLabelExpressions").items() {
                let key = expression.get("key");
                let why = node_labels::deprecation(names, key.text());
                warnings.extend(why.map(|why| format!("{}: {why}", key.path())));
            }
        }
        warnings
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        for field in ["provisioner", "parameters", "reclaimPolicy"] {
            let (before, after) = (Field::root(old).get(field), Field::root(new).get(field));
            if before.value() != after.value() && !(before.is_empty() && after.is_empty()) {
                causes.push(after.forbidden(&format!("updates to {field} are forbidden.")));
            }
        }
        let mode = |object| Field::root(object).get("volumeBindingMode");
        rules::immutable(&mode(old), &mode(new), &mut causes);
        causes
    }
}

/// Checks a topology term: distinct keys, each with distinct values.
fn check_topology(term: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut keys = HashSet::new();
    for expression in term.get("matchLabelExpressions").items() {
        let (key, values) = (expression.get("key"), expression.get("values"));
        let wrong = name::qualified_name(key.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(key.path(), key.text(), why)));
        if !keys.insert(key.text()) {
            causes.push(key.duplicate());
        }
        rules::required(&values, causes);
        let mut seen = HashSet::new();
        causes.extend(
            values
                .items()
                .filter(|value| !seen.insert(value.text()))
                .map(|value| value.duplicate()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn class() -> Json {
        json!({"provisioner": "example.com/p", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})
    }

    #[test]
    fn classes() {
        let check = |field: &str, value: Json, expect: &[&str]| {
            let object = patched(&class(), &[(&format!("/{field}"), value)]);
            assert_eq!(
                shown(&StorageClass.validate(Naming::Svc.names(), &object)),
                expect,
                "{field}"
            );
        };
        check("mountOptions", json!(["x"]), &[]);
        check("provisioner", json!(null), &["Required provisioner"]);
        check("provisioner", json!("A b"), &["Invalid provisioner"]);
        check("reclaimPolicy", json!("Recycle"), &["NotSupported reclaimPolicy"]);
        check("volumeBindingMode", json!("Later"), &["NotSupported volumeBindingMode"]);
        check("parameters", json!({"": "x"}), &["Invalid parameters"]);
        let terms = |terms: Json| json!([{"matchLabelExpressions": terms}]);
        const AT: &str = "allowedTopologies[0].matchLabelExpressions";
        check("allowedTopologies", terms(json!([{"key": "z", "values": ["a", "b"]}])), &[]);
        check(
            "allowedTopologies",
            terms(json!([{"key": "z", "values": []}])),
            &[&format!("Required {AT}[0].values")],
        );
        let twice = json!([{"key": "z", "values": ["a"]}, {"key": "z", "values": ["b"]}]);
        check("allowedTopologies", terms(twice), &[&format!("Duplicate {AT}[1].key")]);
        check(
            "allowedTopologies",
            terms(json!([{"key": "z", "values": ["a", "a"]}])),
            &[&format!("Duplicate {AT}[0].values[1]")],
        );
        check("allowedTopologies", json!([{}, {}]), &["Duplicate allowedTopologies[1]"]);
    }

    #[test]
    fn most_fields_are_immutable() {
        let check = |field: &str, value: Json, expect: &[&str]| {
            let (old, new) = (class().into(), patched(&class(), &[(&format!("/{field}"), value)]));
            let causes = StorageClass.validate_update(Naming::Svc.names(), Part::Main, &old, &new);
            assert_eq!(shown(&causes), expect);
        };
        check("allowVolumeExpansion", json!(true), &[]);
        check("parameters", json!({}), &[]);
        check("parameters", json!({"a": "b"}), &["Forbidden parameters"]);
        check("provisioner", json!("example.com/q"), &["Forbidden provisioner"]);
        check("reclaimPolicy", json!("Retain"), &["Forbidden reclaimPolicy"]);
        check("volumeBindingMode", json!("WaitForFirstConsumer"), &["Invalid volumeBindingMode"]);
    }

    #[test]
    fn retired_topology_keys_are_warned_of() {
        let key = "failure-domain.beta.kubernetes.io/zone";
        let expressions =
            serde_json::json!([{"key": "a", "values": ["v"]}, {"key": key, "values": ["v"]}]);
        let class =
            serde_json::json!({"allowedTopologies": [{"matchLabelExpressions": expressions}]});
        let names = Naming::Kubernetes.names();
        assert_eq!(
            StorageClass.warnings(names, None, &Value::from(class)),
            [
                "allowedTopologies[0].matchLabelExpressions[1].key: deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"
            ]
        );
    }
}
