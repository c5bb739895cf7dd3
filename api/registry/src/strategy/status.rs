//! Status separation: kinds with a `spec` for its owner and a `status` for its controller.
//!
//! Invariant: no write reaches both.

use quorate_meta::Value;

use crate::Part;

/// The fields that a writer of one part does not change.
pub fn ignored(part: Part) -> &'static [&'static str] {
    match part {
        Part::Main => &["status"],
        Part::Status => &["spec"],
        _ => &[],
    }
}

/// Restores the fields that a writer of one part does not decide.
pub fn restore(part: Part, old: &Value, new: &mut Value) {
    for field in ignored(part) {
        keep(field, old, new);
    }
}

/// Restores the metadata that writers of the object itself decide.
pub(crate) fn restore_metadata(old: &Value, new: &mut Value) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] {
        keep_at(&["metadata", field], old, new);
    }
}

/// Restores one field of the object.
pub fn keep(field: &str, old: &Value, new: &mut Value) {
    keep_at(&[field], old, new);
}

/// Restores the field at a path.
pub fn keep_at(path: &[&str], old: &Value, new: &mut Value) {
    match old.at(path) {
        Some(value) => {
            new.set_at(path, value.clone());
        }
        None => {
            new.remove_at(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_part_keeps_the_other() {
        let check = |part: Part, expect: serde_json::Value| {
            let mut new = Value::from(json!({"spec": 2, "status": 2}));
            restore(part, &json!({"spec": 1, "status": 1}).into(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(Part::Main, json!({"spec": 2, "status": 1}));
        check(Part::Status, json!({"spec": 1, "status": 2}));
        let mut new = Value::from(json!({"spec": 2, "status": 2}));
        restore(Part::Main, &json!({"spec": 1}).into(), &mut new);
        assert_eq!(new, json!({"spec": 2}).into());
    }

    #[test]
    fn the_metadata_is_as_before_but_for_the_owners_of_fields() {
        let old = json!({"metadata": {"name": "a", "labels": {"a": "1"}, "finalizers": ["x/y"], "managedFields": [1]}});
        let new = json!({"metadata": {"name": "a", "labels": {"a": "2"}, "annotations": {"b": "3"}, "managedFields": [2]}});
        let mut new = Value::from(new);
        restore_metadata(&old.into(), &mut new);
        let expect = json!({"metadata": {"name": "a", "labels": {"a": "1"}, "finalizers": ["x/y"], "managedFields": [2]}});
        assert_eq!(new, expect.into());
    }
}
