//! Affinity: node affinity, pod affinity and pod anti-affinity.

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Checks the affinity of a pod.
pub(super) fn check(affinity: &Field<'_>, causes: &mut Vec<Cause>) {
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get(REQUIRED);
    if required.is_set() {
        check_node_selector(&required, causes);
    }
    for preference in nodes.get(PREFERRED).items() {
        check_weight(&preference.get("weight"), causes);
        check_node_term(&preference.get("preference"), causes);
    }
    for pods in [affinity.get("podAffinity"), affinity.get("podAntiAffinity")] {
        pods.get(REQUIRED).items().for_each(|term| check_pod_term(&term, causes));
        for preference in pods.get(PREFERRED).items() {
            check_weight(&preference.get("weight"), causes);
            check_pod_term(&preference.get("podAffinityTerm"), causes);
        }
    }
}

/// Checks the values of the terms that a node must match, which are values of its labels. Pods that
/// are there may have others.
pub(super) fn check_required_values(affinity: &Field<'_>, causes: &mut Vec<Cause>) {
    for term in affinity.get("nodeAffinity").get(REQUIRED).get("nodeSelectorTerms").items() {
        for value in term
            .get("matchExpressions")
            .items()
            .flat_map(|one| one.get("values").items().collect::<Vec<_>>())
        {
            causes.extend(wrong(&value, &name::label_value(value.text())));
        }
    }
}

/// Checks a NodeSelector, of whose terms one must match.
pub(crate) fn check_node_selector(selector: &Field<'_>, causes: &mut Vec<Cause>) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        causes.push(terms.required("must have at least one node selector term"));
    }
    terms.items().for_each(|term| check_node_term(&term, causes));
}

fn check_node_term(term: &Field<'_>, causes: &mut Vec<Cause>) {
    for requirement in term.get("matchExpressions").items() {
        check_node_requirement(&requirement, causes);
        let key = requirement.get("key");
        causes.extend(wrong(&key, &name::qualified_name(key.text())));
    }
    for requirement in term.get("matchFields").items() {
        check_field_requirement(&requirement, causes);
    }
}

fn check_node_requirement(requirement: &Field<'_>, causes: &mut Vec<Cause>) {
    let (operator, values) = (requirement.get("operator"), requirement.get("values"));
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => {
            causes.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            causes.push(
                values.forbidden(
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ),
            );
        }
        "Gt" | "Lt" if values.items().len() != 1 => {
            causes.push(
                values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"),
            );
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            causes.push(Cause::invalid(operator.path(), other, "not a valid selector operator"))
        }
    }
}

/// Checks a requirement on fields: `metadata.name` is the only field.
fn check_field_requirement(requirement: &Field<'_>, causes: &mut Vec<Cause>) {
    let (key, operator, values) =
        (requirement.get("key"), requirement.get("operator"), requirement.get("values"));
    match operator.text() {
        "In" | "NotIn" if values.items().len() != 1 => {
            let why =
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            causes.push(values.required(why));
        }
        "In" | "NotIn" => {}
        other => {
            causes.push(Cause::invalid(operator.path(), other, "not a valid selector operator"))
        }
    }
    if key.text() != "metadata.name" {
        causes.push(Cause::invalid(key.path(), key.text(), "not a valid field selector key"));
        return;
    }
    for value in values.items() {
        causes.extend(value.invalid_for(&name::dns_subdomain(value.text())));
    }
}

fn check_pod_term(term: &Field<'_>, causes: &mut Vec<Cause>) {
    let topology = term.get("topologyKey");
    rules::selector(&term.get("labelSelector"), causes);
    rules::selector(&term.get("namespaceSelector"), causes);
    for namespace in term.get("namespaces").items() {
        causes.extend(wrong(&namespace, &name::dns_label(namespace.text())));
    }
    let (keys, other_keys) = (term.get("matchLabelKeys"), term.get("mismatchLabelKeys"));
    for keys in [&keys, &other_keys] {
        check_label_keys(keys, &term.get("labelSelector"), causes);
    }
    let others: Vec<&str> = other_keys.items().map(|key| key.text()).collect();
    for key in keys.items().filter(|key| others.contains(&key.text())) {
        causes.push(key.invalid("exists in both matchLabelKeys and mismatchLabelKeys"));
    }
    if topology.is_empty() {
        causes.push(topology.required("can not be empty"));
    }
    causes.extend(wrong(&topology, &name::qualified_name(topology.text())));
}

/// Checks `matchLabelKeys` or `mismatchLabelKeys`, whose values come from the labels of the pod.
pub(super) fn check_label_keys(keys: &Field<'_>, selector: &Field<'_>, causes: &mut Vec<Cause>) {
    if !keys.is_empty() && !selector.is_set() {
        causes.push(keys.forbidden("must not be specified when labelSelector is not set"));
    }
    for key in keys.items() {
        causes.extend(wrong(&key, &name::qualified_name(key.text())));
    }
}

fn check_weight(weight: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::between(weight, 1, 100, "must be in the range 1-100", causes);
}

fn wrong(field: &Field<'_>, problems: &[String]) -> Vec<Cause> {
    problems.iter().map(|why| Cause::invalid(field.path(), field.text(), why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[track_caller]
    fn run(affinity: serde_json::Value, expect: &[&str]) {
        let object = Value::from(affinity);
        let mut causes = Vec::new();
        check(&Field::root(&object), &mut causes);
        let found: Vec<String> = shown(&causes)
            .iter()
            .map(|cause| cause.replace(REQUIRED, "R").replace(PREFERRED, "P"))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn nodes() {
        let required = |terms: serde_json::Value| json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}});
        let term = |key: &str, operator: &str, values: &[&str]| json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]);
        run(required(json!([])), &["Required nodeAffinity.R.nodeSelectorTerms"]);
        let at = "nodeAffinity.R.nodeSelectorTerms[0].matchExpressions[0]";
        run(required(term("disk", "In", &["ssd"])), &[]);
        run(required(term("disk", "Gt", &["1", "2"])), &[&format!("Required {at}.values")]);
        run(
            required(term("a b", "Like", &[])),
            &[&format!("Invalid {at}.operator"), &format!("Invalid {at}.key")],
        );
        let fields =
            json!([{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["u"]}]}]);
        run(required(fields), &["Invalid nodeAffinity.R.nodeSelectorTerms[0].matchFields[0].key"]);
        run(
            json!({"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}),
            &["Invalid nodeAffinity.P[0].weight"],
        );
    }

    #[test]
    fn pods() {
        let terms = json!([{"labelSelector": {}}]);
        run(
            json!({"podAntiAffinity": {REQUIRED: terms}}),
            &[
                "Required podAntiAffinity.R[0].topologyKey",
                "Invalid podAntiAffinity.R[0].topologyKey",
                "Invalid podAntiAffinity.R[0].topologyKey",
            ],
        );
        let weighted = json!([{"weight": 101, "podAffinityTerm": {"topologyKey": "zone", "matchLabelKeys": ["k"], "namespaces": ["A"]}}]);
        run(
            json!({"podAffinity": {PREFERRED: weighted}}),
            &[
                "Invalid podAffinity.P[0].weight",
                "Invalid podAffinity.P[0].podAffinityTerm.namespaces[0]",
                "Forbidden podAffinity.P[0].podAffinityTerm.matchLabelKeys",
            ],
        );
    }

    #[test]
    fn keys_and_values() {
        let term = json!([{"labelSelector": {}, "topologyKey": "zone", "matchLabelKeys": ["a", "b"], "mismatchLabelKeys": ["b"]}]);
        run(
            json!({"podAffinity": {REQUIRED: term}}),
            &["Invalid podAffinity.R[0].matchLabelKeys[1]"],
        );
        let terms = |value: &str| json!([{"matchExpressions": [{"key": "k", "operator": "In", "values": ["a", value]}]}]);
        let affinity = |value: &str| {
            let preferred = json!([{"weight": 1, "preference": terms("not a label")[0]}]);
            Value::from(
                json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms(value)}, PREFERRED: preferred}}),
            )
        };
        for (value, expect) in [("b", 0), ("", 0), ("not a label", 1)] {
            let mut causes = Vec::new();
            check_required_values(&Field::root(&affinity(value)), &mut causes);
            assert_eq!(causes.len(), expect, "{value}");
        }
    }
}
