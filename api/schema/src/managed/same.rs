//! Whether two states of an object only differ in the times of their `managedFields`: such a write
//! is skipped.

use quorate_meta::{Map, Value};

const METADATA: &str = "metadata";
const MANAGED_FIELDS: &str = "managedFields";

/// Whether two objects are equal without their `metadata.managedFields`.
pub fn same_but_for_owners(left: &Value, right: &Value) -> bool {
    let (Value::Map(left), Value::Map(right)) = (left, right) else {
        return left == right;
    };
    let equal = |left: &Value, right: &Value, key: &str| match (key, left, right) {
        (METADATA, Value::Map(left), Value::Map(right)) => unmanaged(left).eq(unmanaged(right)),
        _ => left == right,
    };
    left.len() == right.len()
        && left
            .iter()
            .zip(right.iter())
            .all(|((key, left), (other, right))| key == other && equal(left, right, key))
}

/// Whether the `metadata.managedFields` of two objects are equal without the times.
pub fn same_owners(left: &Value, right: &Value) -> bool {
    let list = |object: &'_ Value| -> Vec<Value> {
        let list =
            object.at(&[METADATA, MANAGED_FIELDS]).and_then(Value::as_list).unwrap_or_default();
        let mut entries: Vec<Value> = list.to_vec();
        for entry in entries.iter_mut().filter_map(Value::as_map_mut) {
            entry.remove("time");
        }
        entries.sort_by_cached_key(identity);
        entries
    };
    list(left) == list(right)
}

fn unmanaged(metadata: &Map) -> impl Iterator<Item = (&str, &Value)> {
    metadata.iter().filter(|(key, _)| *key != MANAGED_FIELDS)
}

fn identity(entry: &Value) -> Vec<String> {
    let text = |key| entry.str_at(&[key]).unwrap_or_default().to_owned();
    ["manager", "operation", "apiVersion", "subresource"].map(text).to_vec()
}
