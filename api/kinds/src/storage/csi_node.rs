//! CSINode: the CSI drivers of a node.

use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Names, Value, name};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// Bytes of the node ID of a driver, at most.
const MAX_NODE_ID: usize = 256;

/// The strategy of CSINode.
#[derive(Debug)]
pub(super) struct CsiNode;

impl Strategy for CsiNode {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        tidy(object);
    }

    fn prepare_update(&self, _: &Names, _: Part, _: &Value, new: &mut Value) {
        tidy(new);
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let mut seen = HashSet::new();
        for driver in Field::root(object).get("spec.drivers").items() {
            let own = driver.get("name");
            rules::csi_driver_name(&own, &mut causes);
            if !seen.insert(own.text()) {
                causes.push(own.duplicate());
            }
            check_driver(&driver, &mut causes);
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        fn drivers(object: &Value) -> &[Value] {
            object.at(&["spec", "drivers"]).and_then(Value::as_list).unwrap_or_default()
        }
        fn fixed(driver: &Value) -> [Option<&Value>; 2] {
            ["nodeID", "topologyKeys"].map(|field| driver.get(field))
        }
        let mut causes = Vec::new();
        let known: HashMap<&str, &Value> = drivers(new)
            .iter()
            .map(|driver| (driver.str_at(&["name"]).unwrap_or_default(), driver))
            .collect();
        for old in drivers(old) {
            let kept = known.get(old.str_at(&["name"]).unwrap_or_default());
            if let Some(new) = kept.filter(|new| fixed(new) != fixed(old)) {
                causes.push(Cause::invalid("spec.drivers", (*new).clone(), rules::IMMUTABLE));
            }
        }
        causes
    }
}

fn tidy(object: &mut Value) {
    rules::null_when_empty(object, &["spec", "drivers"]);
    for driver in
        object.at_mut(&["spec", "drivers"]).and_then(Value::as_list_mut).into_iter().flatten()
    {
        rules::null_when_empty(driver, &["topologyKeys"]);
    }
}

fn check_driver(driver: &Field<'_>, causes: &mut Vec<Cause>) {
    let id = driver.get("nodeID");
    rules::required(&id, causes);
    if id.text().len() > MAX_NODE_ID {
        causes.push(id.invalid(&format!("must be {MAX_NODE_ID} characters or less")));
    }
    rules::not_negative(&driver.get("allocatable.count"), causes);
    let mut keys = HashSet::new();
    for key in driver.get("topologyKeys").items() {
        if key.is_empty() {
            causes.push(driver.required(""));
        }
        if !keys.insert(key.text()) {
            causes.push(Cause::duplicate(driver.path(), key.text()));
        }
        let wrong = name::qualified_name(key.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(driver.path(), key.text(), why)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn node() -> Json {
        json!({"spec": {"drivers": [{"name": "x.example.com", "nodeID": "n1", "topologyKeys": ["a", "b"], "allocatable": {"count": 5}}]}})
    }

    #[test]
    fn drivers() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let object = patched(&node(), &[(&format!("/spec/drivers{pointer}"), value)]);
            assert_eq!(shown(&CsiNode.validate(Naming::Svc.names(), &object)), expect, "{pointer}");
        };
        check("", json!([]), &[]);
        check("/0/name", json!(""), &["Required spec.drivers[0].name"]);
        check("/0/name", json!("A_b"), &["Invalid spec.drivers[0].name"]);
        check("/0/nodeID", json!(""), &["Required spec.drivers[0].nodeID"]);
        check("/0/nodeID", json!("i".repeat(300)), &["Invalid spec.drivers[0].nodeID"]);
        check(
            "/1",
            json!({"name": "x.example.com", "nodeID": "n2"}),
            &["Duplicate spec.drivers[1].name"],
        );
        check("/0/allocatable/count", json!(-1), &["Invalid spec.drivers[0].allocatable.count"]);
        check("/0/topologyKeys", json!(["a", "a"]), &["Duplicate spec.drivers[0]"]);
    }

    #[test]
    fn empty_lists_are_null() {
        let check = |pointer: &str, expect: Json| {
            let mut object = patched(&node(), &[(pointer, json!([]))]);
            CsiNode.prepare_create(Naming::Svc.names(), &mut object);
            assert_eq!(serde_json::to_value(&object).unwrap().pointer(pointer), Some(&expect));
        };
        check("/spec/drivers", Json::Null);
        check("/spec/drivers/0/topologyKeys", Json::Null);
    }

    #[test]
    fn drivers_come_and_go_with_a_fixed_id() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let new = patched(&node(), &[(&format!("/spec/drivers{pointer}"), value)]);
            let causes =
                CsiNode.validate_update(Naming::Svc.names(), Part::Main, &node().into(), &new);
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("", json!([]), &[]);
        check("/1", json!({"name": "y.example.com", "nodeID": "n2"}), &[]);
        check("/0/allocatable/count", json!(6), &[]);
        check("/0/nodeID", json!("n9"), &["Invalid spec.drivers"]);
        check("/0/topologyKeys", json!(["c"]), &["Invalid spec.drivers"]);
    }
}
