//! Helpers of the unit tests: field errors in short form, and patched objects.

use quorate_meta::Cause;

use crate::field::Field;

/// Field errors as reason and field.
pub(crate) fn shown(causes: &[Cause]) -> Vec<String> {
    let short = |cause: &Cause| cause.reason.as_str().trim_start_matches("FieldValue").to_owned();
    causes.iter().map(|cause| format!("{} {}", short(cause), cause.field)).collect()
}

/// Runs a check on a value in the field `s` and compares the field errors.
#[track_caller]
pub(crate) fn field_causes(rule: fn(&Field<'_>, &mut Vec<Cause>), value: serde_json::Value, expect: &[&str]) {
    let object = serde_json::json!({ "s": value }).into();
    let mut causes = Vec::new();
    rule(&Field::root(&object).get("s"), &mut causes);
    assert_eq!(shown(&causes), expect, "{object:?}");
}

/// The object with the value at each JSON pointer (RFC 6901) replaced, added or (`null`)
/// removed.
pub(crate) fn patched(object: &serde_json::Value, changes: &[(&str, serde_json::Value)]) -> quorate_meta::Value {
    let mut object = object.clone();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let target = object.pointer_mut(parent).expect("the parent exists");
        match target {
            serde_json::Value::Array(items) => match (key.parse::<usize>(), value.is_null()) {
                (Ok(index), true) => drop(items.remove(index)),
                (Ok(index), false) if index < items.len() => items[index] = value.clone(),
                _ => items.push(value.clone()),
            },
            other if value.is_null() => drop(other.as_object_mut().expect("an object").remove(key)),
            other => drop(other.as_object_mut().expect("an object").insert(key.to_owned(), value.clone())),
        }
    }
    object.into()
}
