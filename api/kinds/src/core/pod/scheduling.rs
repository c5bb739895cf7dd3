//! Tolerations, topology spread constraints, readiness gates, scheduling gates and resource claims
//! of a pod.

use std::collections::HashSet;

use quorate_meta::{Cause, Value, name};
use quorate_wire::json;

use super::affinity::check_label_keys;
use crate::field::Field;
use crate::rules;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const WHEN: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
const INCLUSION: [&str; 2] = ["Honor", "Ignore"];

/// Checks tolerations.
pub(crate) fn check_tolerations(tolerations: &Field<'_>, causes: &mut Vec<Cause>) {
    for toleration in tolerations.items() {
        let part = |field: &str| toleration.get(field);
        let (key, operator, value, effect) =
            (part("key"), part("operator"), part("value"), part("effect"));
        if !key.is_empty() {
            causes.extend(key.invalid_for(&name::qualified_name(key.text())));
        } else if operator.text() != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.push(Cause::invalid(operator.path(), operator.text(), why));
        }
        if part("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.push(Cause::invalid(effect.path(), effect.text(), why));
        }
        match operator.text() {
            "" | "Equal" => {
                let wrong = name::label_value(value.text());
                causes.extend(
                    wrong.iter().map(|why| Cause::invalid(operator.path(), value.text(), why)),
                );
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(operator.path(), value.text(), why));
            }
            "Exists" => {}
            _ => causes.push(operator.not_supported(&["Equal", "Exists"])),
        }
        if !effect.is_empty() {
            check_taint_effect(&effect, causes);
        }
    }
}

/// Checks the effect of a taint or toleration.
pub(crate) fn check_taint_effect(effect: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::one_of(effect, &EFFECTS, causes);
}

/// Checks topology spread constraints.
pub(super) fn check_topology_spread(constraints: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut pairs = HashSet::new();
    for constraint in constraints.items() {
        let part = |field: &str| constraint.get(field);
        let (skew, topology, when) =
            (part("maxSkew"), part("topologyKey"), part("whenUnsatisfiable"));
        if skew.int().unwrap_or_default() <= 0 {
            causes.push(skew.invalid("must be greater than zero"));
        }
        if topology.is_empty() {
            causes.push(topology.required("can not be empty"));
        } else {
            causes.extend(topology.invalid_for(&name::qualified_name(topology.text())));
        }
        if !WHEN.contains(&when.text()) {
            causes.push(when.not_supported(&WHEN));
        }
        if !pairs.insert((topology.text(), when.text())) {
            let pair = format!("{{{}, {}}}", topology.text(), when.text());
            causes.push(Cause::duplicate(
                constraint.path().child("{topologyKey, whenUnsatisfiable}"),
                pair,
            ));
        }
        let domains = part("minDomains");
        if domains.int().is_some_and(|domains| domains <= 0) {
            causes.push(domains.invalid("must be greater than zero"));
        }
        if domains.is_set() && when.text() != "DoNotSchedule" {
            causes.push(
                domains.invalid("can only use minDomains if whenUnsatisfiable=DoNotSchedule"),
            );
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            rules::optional_one_of(&part(field), &INCLUSION, causes);
        }
        rules::selector(&part("labelSelector"), causes);
        check_label_keys(&part("matchLabelKeys"), &part("labelSelector"), causes);
    }
}

/// Checks readiness gates and scheduling gates (KEP-3521).
pub(super) fn check_gates(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    for gate in spec.get("readinessGates").items() {
        let condition = gate.get("conditionType");
        causes.extend(condition.invalid_for(&name::qualified_name(condition.text())));
    }
    let mut seen = HashSet::new();
    for gate in spec.get("schedulingGates").items() {
        let own = gate.get("name");
        causes.extend(own.invalid_for(&name::qualified_name(own.text())));
        if !seen.insert(own.text()) {
            causes.push(own.duplicate());
        }
    }
}

/// Checks the resource claims of a pod.
pub(super) fn check_claims(claims: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for claim in claims.items() {
        let own = claim.get("name");
        rules::name(&own, name::dns_label, causes);
        if !own.is_empty() && !seen.insert(own.text()) {
            causes.push(Cause::duplicate(own.path(), own.text()));
        }
        let sources =
            ["resourceClaimName", "resourceClaimTemplateName"].map(|field| claim.get(field));
        match sources.iter().filter(|source| source.is_set()).count() {
            0 => causes.push(claim.invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")),
            1 => {}
            _ => causes.push(
                claim.invalid("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
            ),
        }
        for source in sources.iter().filter(|source| source.is_set()) {
            causes.extend(source.invalid_for(&name::dns_subdomain(source.text())));
        }
    }
}

/// Whether every old toleration is still present; only `tolerationSeconds` may differ.
pub(super) fn only_adds_tolerations(old: &Value, new: &Value) -> bool {
    let lists = |spec: &Value| {
        spec.get("tolerations").and_then(Value::as_list).unwrap_or_default().to_vec()
    };
    let plain = |mut toleration: Value| {
        toleration.remove_at(&["tolerationSeconds"]);
        json::to_vec(&toleration)
    };
    let new: HashSet<Vec<u8>> = lists(new).into_iter().map(plain).collect();
    lists(old).into_iter().map(plain).all(|toleration| new.contains(&toleration))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::json;

    fn run(of: fn(&Field<'_>, &mut Vec<Cause>), value: serde_json::Value) -> Vec<String> {
        let object = Value::from(json!({"l": value}));
        let mut causes = Vec::new();
        of(&Field::root(&object).get("l"), &mut causes);
        shown(&causes)
    }

    #[test]
    fn tolerations() {
        let check = |toleration: serde_json::Value, expect: &[&str]| {
            assert_eq!(run(check_tolerations, json!([toleration])), expect);
        };
        check(json!({"operator": "Exists"}), &[]);
        check(
            json!({"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 1}),
            &[],
        );
        check(json!({"operator": "Equal", "value": "x"}), &["Invalid l[0].operator"]);
        check(json!({"key": "k", "operator": "Exists", "value": "x"}), &["Invalid l[0].operator"]);
        check(
            json!({"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}),
            &["Invalid l[0].effect"],
        );
        check(
            json!({"key": "a b", "effect": "Odd"}),
            &["Invalid l[0].key", "NotSupported l[0].effect"],
        );
        check(json!({"key": "k", "operator": "Like"}), &["NotSupported l[0].operator"]);
    }

    #[test]
    fn spread() {
        let check = |list: serde_json::Value, expect: &[&str]| {
            assert_eq!(run(check_topology_spread, list), expect)
        };
        let good =
            json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
        check(json!([good]), &[]);
        check(json!([good, good]), &["Duplicate l[1].{topologyKey, whenUnsatisfiable}"]);
        check(
            json!([{"maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}]),
            &["Invalid l[0].maxSkew", "Required l[0].topologyKey"],
        );
        check(
            json!([{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}]),
            &["Invalid l[0].minDomains"],
        );
    }

    #[test]
    fn claims() {
        let check =
            |list: serde_json::Value, expect: &[&str]| assert_eq!(run(check_claims, list), expect);
        check(json!([{"name": "a", "resourceClaimName": "c"}]), &[]);
        check(
            json!([{"name": "a"}, {"name": "a", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}]),
            &["Invalid l[0]", "Duplicate l[1].name", "Invalid l[1]"],
        );
    }

    #[test]
    fn tolerations_stay() {
        let check = |old: serde_json::Value, new: serde_json::Value, expect: bool| {
            let spec = |list: serde_json::Value| json!({"tolerations": list}).into();
            assert_eq!(only_adds_tolerations(&spec(old), &spec(new)), expect);
        };
        check(
            json!([{"key": "a", "tolerationSeconds": 1}]),
            json!([{"key": "b"}, {"key": "a", "tolerationSeconds": 2}]),
            true,
        );
        check(json!([{"key": "a"}]), json!([]), false);
    }
}
