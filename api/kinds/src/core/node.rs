//! Node: a machine that runs pods.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Path, Value, name};

use super::node_config;
use super::pod::{check_amount, check_taint_effect};
use crate::address_warnings;
use crate::field::Field;
use quorate_meta::net;
use quorate_registry::{GatedFields, Part, Strategy};

const NO_SCHEDULE: &str = "NoSchedule";

/// A field of the status whose feature is off here: the features that a node declares (KEP-5328).
const GATED: &[GatedFields] =
    &[GatedFields { below: "status", fields: &[], off: &["declaredFeatures"] }];

/// The strategy of Node.
#[derive(Debug)]
pub(super) struct Node;

impl Strategy for Node {
    fn checks_structure(&self) -> bool {
        false
    }

    fn default(&self, _: &Names, object: &mut Value) {
        let one = object.str_at(&["spec", "podCIDR"]).unwrap_or_default().to_owned();
        let all = object.at(&["spec", "podCIDRs"]).and_then(Value::as_list).unwrap_or_default();
        let first = all.first().and_then(Value::as_str).unwrap_or_default().to_owned();
        // `podCIDR` wins over the first of `podCIDRs`, for clients that know only the former.
        if one.is_empty() && !first.is_empty() {
            object.set_at(&["spec", "podCIDR"], first);
        } else if one != first {
            object.set_at(&["spec", "podCIDRs"], vec![one]);
        }
        if let Some(capacity) =
            object.at(&["status", "capacity"]).filter(|capacity| !capacity.is_empty()).cloned()
            && object.at(&["status", "allocatable"]).is_none_or(Value::is_null)
        {
            object.set_at(&["status", "allocatable"], capacity);
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    /// Taints a new node `not-ready`, until the node lifecycle controller removes the taint.
    fn prepare_create(&self, names: &Names, object: &mut Value) {
        let key = names.node_taint("not-ready");
        let mut taints = object
            .at(&["spec", "taints"])
            .and_then(Value::as_list)
            .map(<[Value]>::to_vec)
            .unwrap_or_default();
        let is_there = |taint: &Value| {
            taint.str_at(&["key"]) == Some(&key) && taint.str_at(&["effect"]) == Some(NO_SCHEDULE)
        };
        if !taints.iter().any(is_there) {
            taints.push([("effect", NO_SCHEDULE), ("key", &key)].into());
            object.set_at(&["spec", "taints"], taints);
        }
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let spec = Field::root(new).get("spec");
        let old = [
            ("configSource", "the feature is removed"),
            ("externalID", "this field is deprecated, and is unused by Kubernetes"),
        ];
        let old = old.into_iter().filter(|(field, _)| !spec.get(field).is_empty());
        let mut warnings: Vec<String> =
            old.map(|(field, why)| format!("spec.{field}: {why}")).collect();
        warnings.extend(
            spec.get("podCIDRs").items().flat_map(|range| address_warnings::of_range(&range)),
        );
        warnings
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        check_taints(&root.get("spec.taints"), &mut causes);
        check_ranges(&root.get("spec.podCIDRs"), &mut causes);
        for list in ["capacity", "allocatable"] {
            let amounts = root.get("status").get(list);
            for (resource, amount) in amounts.entries() {
                let amount = Field::new(amount.value(), amounts.path().child(resource));
                check_amount(names, resource, &amount, &mut causes);
            }
        }
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        let mut seen = HashSet::new();
        for address in new.get("status.addresses").items() {
            if !seen.insert((address.get("type").text(), address.get("address").text())) {
                causes.push(address.duplicate());
            }
        }
        node_config::check(&new.get("spec.configSource"), &mut causes);
        node_config::check_status(&new.get("status.config"), &mut causes);
        if part == Part::Status {
            return causes;
        }
        let stays =
            |field: &str| old.get("spec").get(field).value() == new.get("spec").get(field).value();
        let unset = |field: &str| old.get("spec").get(field).is_empty();
        if !unset("podCIDRs") && !stays("podCIDRs") {
            let why = "node updates may not change podCIDR except from \"\" to valid";
            causes.push(new.get("spec.podCIDRs").forbidden(why));
        }
        if !unset("providerID") && !stays("providerID") {
            let why = "node updates may not change providerID except from \"\" to valid";
            causes.push(new.get("spec.providerID").forbidden(why));
        }
        if !stays("externalID") {
            causes.push(new.get("spec.externalID").forbidden("may not be updated"));
        }
        causes
    }

    fn selectable(&self, object: &Value, field: &str) -> String {
        match field {
            "spec.unschedulable" => object
                .at(&["spec", "unschedulable"])
                .and_then(Value::as_bool)
                .unwrap_or_default()
                .to_string(),
            _ => quorate_registry::strategy::plain_field(object, field),
        }
    }
}

/// Checks taints; their field errors have the path `metadata.taints`, as in Kubernetes.
fn check_taints(taints: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (index, taint) in taints.items().enumerate() {
        let taint = Field::new(taint.value(), Path::new("metadata.taints").index(index));
        let (key, value, effect) = (taint.get("key"), taint.get("value"), taint.get("effect"));
        causes.extend(
            name::qualified_name(key.text())
                .iter()
                .map(|why| Cause::invalid(key.path(), key.text(), why)),
        );
        causes.extend(value.invalid_for(&name::label_value(value.text())));
        check_taint_effect(&effect, causes);
        if !seen.insert((key.text(), effect.text())) {
            causes.push(taint.duplicate());
        }
    }
}

/// Checks that there is at most one CIDR of each IP family.
fn check_ranges(ranges: &Field<'_>, causes: &mut Vec<Cause>) {
    for range in ranges.items() {
        if net::Range::parse(range.text()).is_none() {
            causes.push(range.invalid(net::NOT_A_RANGE));
        }
    }
    let mut seen = HashSet::new();
    for range in ranges.items() {
        if !seen.insert(range.text()) {
            causes.push(range.duplicate());
        }
    }
    let count = ranges.items().len();
    let sixth = ranges.items().filter(|range| range.text().contains(':')).count();
    if count > 2 || (count == 2 && sixth != 1) {
        causes.push(ranges.invalid("may specify no more than one CIDR for each IP family"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn rules_of_the_whole() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            assert_eq!(
                shown(&Node.validate(Naming::Svc.names(), &json!({ "spec": spec }).into())),
                expect
            );
        };
        check(
            json!({"podCIDRs": ["10.1.0.0/16", "fd00::/64"], "taints": [{"key": "k", "effect": "NoSchedule"}]}),
            &[],
        );
        check(json!({"podCIDRs": ["x"]}), &["Invalid spec.podCIDRs[0]"]);
        check(json!({"podCIDRs": ["10.1.0.0/16", "10.2.0.0/16"]}), &["Invalid spec.podCIDRs"]);
        check(
            json!({"taints": [{"key": "a b"}]}),
            &["Invalid metadata.taints[0].key", "Required metadata.taints[0].effect"],
        );
        let taint = json!({"key": "k", "effect": "NoSchedule"});
        check(json!({"taints": [taint, taint]}), &["Duplicate metadata.taints[1]"]);
    }

    #[test]
    fn changes() {
        let check = |old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
            let object = |spec: serde_json::Value| Value::from(json!({ "spec": spec }));
            assert_eq!(
                shown(&Node.validate_update(
                    Naming::Svc.names(),
                    Part::Main,
                    &object(old),
                    &object(new)
                )),
                expect
            );
        };
        check(json!({}), json!({"providerID": "a", "podCIDRs": ["10.1.0.0/16"]}), &[]);
        check(
            json!({"providerID": "a"}),
            json!({"providerID": "b"}),
            &["Forbidden spec.providerID"],
        );
        check(json!({"podCIDRs": ["10.1.0.0/16"]}), json!({}), &["Forbidden spec.podCIDRs"]);
    }

    #[test]
    fn what_is_made_of_less() {
        let mut object = Value::from(
            json!({"spec": {"podCIDR": "10.1.0.0/16"}, "status": {"capacity": {"cpu": "1"}}}),
        );
        Node.default(Naming::Svc.names(), &mut object);
        let expect = json!({"spec": {"podCIDR": "10.1.0.0/16", "podCIDRs": ["10.1.0.0/16"]},
            "status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}});
        assert_eq!(object, expect.into());
        let mut object = Value::from(
            json!({"spec": {"podCIDR": "10.1.0.0/16", "podCIDRs": ["10.2.0.0/16", "fd00::/64"]}}),
        );
        Node.default(Naming::Svc.names(), &mut object);
        assert_eq!(
            object,
            json!({"spec": {"podCIDR": "10.1.0.0/16", "podCIDRs": ["10.1.0.0/16"]}}).into()
        );
    }

    #[test]
    fn a_new_node_is_not_ready() {
        let check = |naming: Naming, key: &str, spec: serde_json::Value, expect: usize| {
            let mut object = Value::from(json!({ "spec": spec }));
            Node.prepare_create(naming.names(), &mut object);
            let taints = object.at(&["spec", "taints"]).and_then(Value::as_list).unwrap();
            assert_eq!(
                (taints.len(), taints.last()),
                (expect, Some(&json!({"key": key, "effect": NO_SCHEDULE}).into()))
            );
        };
        check(Naming::Svc, "node.svc.io/not-ready", json!({}), 1);
        check(Naming::Kubernetes, "node.kubernetes.io/not-ready", json!({}), 1);
        let own =
            json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": NO_SCHEDULE}]});
        check(Naming::Kubernetes, "node.kubernetes.io/not-ready", own.clone(), 1);
        check(Naming::Svc, "node.svc.io/not-ready", own, 2);
    }
}
