//! Node selection of a ResourceSlice: from which nodes its devices can be used, for the slice or
//! for each device.

use quorate_meta::{Cause, name};

use crate::core::pod::check_node_selector;
use crate::field::Field;

const PER_DEVICE: &str = "perDeviceNodeSelection";

/// Checks the node selection of a slice: exactly one field is set.
pub(super) fn check(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let nodes = spec.get("nodeSelector");
    let terms = nodes.get("nodeSelectorTerms");
    let given = set_fields(spec, &["nodeName", "nodeSelector", "allNodes", PER_DEVICE], causes);
    if nodes.is_set() && terms.items().len() != 1 {
        causes.push(terms.invalid("must have exactly one node selector term"));
    }
    let why = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match given.len() {
        0 => causes.push(spec.required(why)),
        1 => {}
        _ => causes.push(several(spec, &given, &format!("{why}, but multiple fields are set"))),
    }
    let per_device = spec.get(PER_DEVICE).is_true();
    spec.get("devices").items().for_each(|device| check_device(&device, per_device, causes));
}

/// Checks the node selection of a device: set if and only if the slice has
/// `perDeviceNodeSelection`.
fn check_device(device: &Field<'_>, per_device: bool, causes: &mut Vec<Cause>) {
    const NODE_SELECTIONS: [&str; 3] = ["nodeName", "nodeSelector", "allNodes"];
    if !per_device {
        if NODE_SELECTIONS.iter().any(|field_name| device.get(field_name).is_set()) {
            let why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to \
                       true in the ResourceSlice spec";
            causes.push(Cause::invalid(device.path(), quorate_meta::Value::Null, why));
        }
        return;
    }
    let given = set_fields(device, &NODE_SELECTIONS, causes);
    let why = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set \
               to true in the ResourceSlice spec";
    match given.len() {
        0 => causes.push(device.required(why)),
        1 => {}
        _ => causes.push(several(device, &given, why)),
    }
}

fn several(field: &Field<'_>, given: &[String], why: &str) -> Cause {
    Cause::invalid(field.path(), format!("{{{}}}", given.join(", ")), why)
}

/// The names of those of the fields that are set; checks each of them.
fn set_fields(parent: &Field<'_>, fields: &[&str], causes: &mut Vec<Cause>) -> Vec<String> {
    let mut given = Vec::new();
    for field_name in fields {
        let field = parent.get(field_name);
        let is_selection = match *field_name {
            _ if !field.is_set() => continue,
            "nodeName" if field.is_empty() => {
                causes.push(field.invalid("must be either unset or set to a non-empty string"));
                false
            }
            "nodeName" => {
                causes.extend(field.invalid_for(&name::dns_subdomain(field.text())));
                true
            }
            "nodeSelector" => {
                check_node_selector(&field, causes);
                true
            }
            _ if !field.is_true() => {
                causes.push(field.invalid("must be either unset or set to true"));
                false
            }
            _ => true,
        };
        if is_selection {
            given.push(format!("`{field_name}`"));
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::field_causes;
    use serde_json::{Value as Json, json};

    fn run(spec: Json, expect: &[&str]) {
        field_causes(check, spec, expect);
    }

    fn selector(terms: usize) -> Json {
        let term = json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]});
        json!({"nodeSelectorTerms": vec![term; terms]})
    }

    #[test]
    fn slices() {
        run(json!({"nodeName": "n"}), &[]);
        run(json!({"allNodes": true}), &[]);
        run(json!({"nodeSelector": selector(1)}), &[]);
        run(json!({}), &["Required s"]);
        run(json!({"nodeName": ""}), &["Invalid s.nodeName", "Required s"]);
        run(json!({"nodeName": "n", "allNodes": false}), &["Invalid s.allNodes"]);
        run(json!({"nodeName": "n", "allNodes": true}), &["Invalid s"]);
        run(json!({"nodeSelector": selector(2)}), &["Invalid s.nodeSelector.nodeSelectorTerms"]);
        let none = "s.nodeSelector.nodeSelectorTerms";
        run(
            json!({"nodeSelector": selector(0)}),
            &[&format!("Required {none}"), &format!("Invalid {none}")],
        );
    }

    #[test]
    fn devices() {
        let per_device = |device: Json, expect: &[&str]| {
            run(json!({PER_DEVICE: true, "devices": [device]}), expect)
        };
        per_device(json!({"nodeName": "n"}), &[]);
        per_device(json!({"nodeSelector": selector(2)}), &[]);
        per_device(json!({}), &["Required s.devices[0]"]);
        per_device(json!({"nodeName": "n", "allNodes": true}), &["Invalid s.devices[0]"]);
        run(json!({"nodeName": "n", "devices": [{"allNodes": true}]}), &["Invalid s.devices[0]"]);
    }
}
