//! ResourceSlice: a part of the devices of a pool.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Time, Value, name, quoted};

use super::{device_attributes, names, node_selection};
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// Devices of a slice, at most.
const MAX_DEVICES: usize = 128;
/// Sets of counters of a slice, at most.
const MAX_COUNTER_SETS: usize = 8;
/// Sets of counters that a device takes from, at most.
const MAX_CONSUMED_SETS: usize = 2;

/// The strategy of ResourceSlice.
#[derive(Debug)]
pub(super) struct ResourceSlice;

impl Strategy for ResourceSlice {
    fn has_declared_rules(&self) -> bool {
        true
    }

    fn counts_generations(&self) -> bool {
        true
    }

    /// Sets `timeAdded` of new taints.
    fn stamp(&self, _: &Names, _: Option<&Value>, new: &mut Value, now: Time) {
        let devices = new.at_mut(&["spec", "devices"]).and_then(Value::as_list_mut);
        let taints = devices
            .into_iter()
            .flatten()
            .filter_map(|device| device.get_mut("taints")?.as_list_mut());
        for taint in
            taints.flatten().filter(|taint| taint.get("timeAdded").is_none_or(Value::is_null))
        {
            taint.set_at(&["timeAdded"], now.seconds());
        }
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let driver = Field::root(new).get("spec.driver");
        if !driver.text().bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Vec::new();
        }
        let (path, text) = (driver.path(), quoted(driver.text()));
        let why = "driver names should be lowercase";
        vec![format!("{path}: {why}; {text} contains uppercase characters")]
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        names::driver(&spec.get("driver"), &mut causes);
        let pool = spec.get("pool");
        names::pool(&pool.get("name"), &mut causes);
        rules::not_negative(&pool.get("generation"), &mut causes);
        let slices = pool.get("resourceSliceCount");
        if slices.int().is_some_and(|count| count <= 0) {
            causes.push(slices.invalid("must be greater than zero"));
        }
        node_selection::check(&spec, &mut causes);
        check_devices(&spec.get("devices"), &mut causes);
        check_counter_sets(&spec.get("sharedCounters"), "name", MAX_COUNTER_SETS, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        for field in ["spec.driver", "spec.pool.name", "spec.nodeName"] {
            rules::immutable(
                &Field::root(old).get(field),
                &Field::root(new).get(field),
                &mut causes,
            );
        }
        causes
    }
}

fn check_devices(devices: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::at_most_items(devices, MAX_DEVICES, causes);
    let mut names = HashSet::new();
    for device in devices.items() {
        let own = device.get("name");
        rules::optional_name(&own, name::dns_label, causes);
        if !own.is_empty() && !names.insert(own.text()) {
            causes.push(own.duplicate());
        }
        for (key, attribute) in device.get("attributes").entries() {
            device_attributes::check_name(&attribute, key, causes);
            device_attributes::check_value(&attribute, causes);
        }
        for (key, capacity) in device.get("capacity").entries() {
            device_attributes::check_name(&capacity, key, causes);
        }
        let consumed = device.get("consumesCounters");
        check_counter_sets(&consumed, "counterSet", MAX_CONSUMED_SETS, causes);
        names::binding_conditions(&device, causes);
    }
}

/// Checks a list of sets of counters: each has a name of its own.
fn check_counter_sets(list: &Field<'_>, key: &str, max: usize, causes: &mut Vec<Cause>) {
    if !rules::at_most_items(list, max, causes) {
        return;
    }
    let mut seen = HashSet::new();
    for set in list.items() {
        let own = set.get(key);
        rules::optional_name(&own, name::dns_label, causes);
        if !seen.insert(own.text()) {
            causes.push(Cause::duplicate(set.path(), own.text()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn slice() -> Json {
        let pool = json!({"name": "p", "generation": 1, "resourceSliceCount": 1});
        json!({"spec": {"driver": "x.example.com", "pool": pool, "nodeName": "n", "devices": [{"name": "d"}]}})
    }

    #[test]
    fn slices() {
        let check = |field: &str, value: Json, expect: &[&str]| {
            let object = patched(&slice(), &[(&format!("/spec/{field}"), value)]);
            assert_eq!(
                shown(&ResourceSlice.validate(Naming::Svc.names(), &object)),
                expect,
                "{field}"
            );
        };
        check("allNodes", json!(false), &["Invalid spec.allNodes"]);
        check("allNodes", json!(true), &["Invalid spec"]);
        check("nodeName", json!(null), &["Required spec"]);
        check("driver", json!("A b"), &["Invalid spec.driver"]);
        check("pool/name", json!("a/B"), &["Invalid spec.pool.name"]);
        check("pool/resourceSliceCount", json!(0), &["Invalid spec.pool.resourceSliceCount"]);
        check("devices/1", json!({"name": "d"}), &["Duplicate spec.devices[1].name"]);
        check("devices/0/capacity", json!({"memory": {"value": "1"}}), &[]);
        check(
            "devices/0/capacity",
            json!({"q q": {"value": "1"}}),
            &["Invalid spec.devices[0].capacity[q q]"],
        );
        check("devices/0/attributes", json!({"a": {}}), &["Invalid spec.devices[0].attributes[a]"]);
        check(
            "devices/0/attributes",
            json!({"a": {"int": 1, "bool": true}}),
            &["Invalid spec.devices[0].attributes[a]"],
        );
        check(
            "devices/0/attributes",
            json!({"x.example.com/a": {"int": 1}, "a-b": {"version": "1"}}),
            &[
                "Invalid spec.devices[0].attributes[a-b]",
                "Invalid spec.devices[0].attributes[a-b].version",
            ],
        );
    }

    #[test]
    fn driver_pool_and_node_stay() {
        let check = |field: &str, expect: &[&str]| {
            let new = patched(&slice(), &[(field, json!("other"))]);
            let causes = ResourceSlice.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &slice().into(),
                &new,
            );
            assert_eq!(shown(&causes), expect);
        };
        check("/spec/driver", &["Invalid spec.driver"]);
        check("/spec/nodeName", &["Invalid spec.nodeName"]);
        check("/spec/pool/name", &["Invalid spec.pool.name"]);
        check("/spec/devices/0/name", &[]);
    }

    #[test]
    fn new_taints_get_a_time() {
        let mut object = patched(
            &slice(),
            &[(
                "/spec/devices/0/taints",
                json!([{"key": "k"}, {"key": "l", "timeAdded": "2001-01-01T00:00:00Z"}]),
            )],
        );
        ResourceSlice.stamp(Naming::Svc.names(), None, &mut object, Time::from_ms(0));
        let taints = json!([{"key": "k", "timeAdded": "1970-01-01T00:00:00Z"}, {"key": "l", "timeAdded": "2001-01-01T00:00:00Z"}]);
        assert_eq!(
            object.at(&["spec", "devices"]),
            Some(&json!([{"name": "d", "taints": taints}]).into())
        );
    }
}
