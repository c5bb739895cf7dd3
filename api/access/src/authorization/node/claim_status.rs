//! The status of a PersistentVolumeClaim that a node writes: how far the volume has grown there,
//! and nothing else.
//!
//! Invariant: every field that is not in [`REPORTED`] stays as it was, metadata too, but for those
//! that the server itself maintains.

use quorate_meta::Value;

use super::{Check, ensure};

/// Fields of the status that are a node's to report.
const REPORTED: [&str; 4] =
    ["allocatedResourceStatuses", "allocatedResources", "capacity", "conditions"];
/// Metadata that the server maintains.
const MAINTAINED: [&str; 2] = ["managedFields", "resourceVersion"];

/// Whether a node may change a claim into this.
pub(super) fn may_change(node: &str, old: &Value, new: &Value) -> Check {
    let why = format!(
        "node {node:?} is not allowed to update fields other than status.quantity and status.conditions"
    );
    ensure(others(old) == others(new), &why)
}

/// All fields that a node does not report, without empty ones, which may be left out.
fn others(claim: &Value) -> Vec<(&str, &str, &Value)> {
    let parts = ["metadata", "spec", "status"];
    let fields = parts.into_iter().filter_map(|part| Some((part, claim.get(part)?.as_map()?)));
    let fields = fields
        .flat_map(|(part, fields)| fields.iter().map(move |(field, value)| (part, field, value)));
    let is_reported = |part: &str, field: &str| match part {
        "metadata" => MAINTAINED.contains(&field),
        "status" => REPORTED.contains(&field),
        _ => false,
    };
    let mut others: Vec<_> = fields
        .filter(|(part, field, value)| !value.is_empty() && !is_reported(part, field))
        .collect();
    others.sort_unstable_by_key(|(part, field, _)| (*part, *field));
    others
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn a_node_reports_the_size_of_a_claim_and_what_becomes_of_it() {
        let old = json!({
            "metadata": {"name": "c", "resourceVersion": "1", "labels": {}},
            "spec": {"accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
        });
        let check = |pointer: &str, value: Json, expect: bool| {
            let mut new = old.clone();
            new.pointer_mut(pointer)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .extend(value.as_object().unwrap().clone());
            let verdict = may_change("n1", &old.clone().into(), &new.into());
            assert_eq!(verdict.is_ok(), expect, "{pointer} {value}: {verdict:?}");
        };
        check(
            "/metadata",
            json!({"resourceVersion": "", "managedFields": [{}], "annotations": null}),
            true,
        );
        check("/metadata", json!({"labels": {"a": "b"}}), false);
        check("/metadata", json!({"finalizers": ["a.b/c"]}), false);
        check("/spec", json!({"volumeName": "v"}), false);
        check(
            "/status",
            json!({"capacity": {"storage": "2Gi"}, "conditions": [{"type": "FileSystemResizePending"}]}),
            true,
        );
        check("/status", json!({"allocatedResources": {"storage": "2Gi"}}), true);
        check(
            "/status",
            json!({"allocatedResourceStatuses": {"storage": "NodeResizePending"}}),
            true,
        );
        check("/status", json!({"phase": "Lost"}), false);
        check("/status", json!({"phase": null}), false);
        check("/status", json!({"accessModes": ["ReadWriteMany"]}), false);
    }
}
