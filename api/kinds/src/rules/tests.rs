//! Tests of the shared checks, and helpers for unit tests of kinds: field errors in short form, and
//! patched objects.

use quorate_meta::Cause;
use serde_json::json;

use super::*;

/// Field errors as reason and field.
pub(crate) fn shown(causes: &[Cause]) -> Vec<String> {
    let short = |cause: &Cause| cause.reason.as_str().trim_start_matches("FieldValue").to_owned();
    causes.iter().map(|cause| format!("{} {}", short(cause), cause.field)).collect()
}

/// Runs a check on a value in the field `s` and compares the field errors.
#[track_caller]
pub(crate) fn field_causes(
    rule: fn(&Field<'_>, &mut Vec<Cause>),
    value: serde_json::Value,
    expect: &[&str],
) {
    let object = serde_json::json!({ "s": value }).into();
    let mut causes = Vec::new();
    rule(&Field::root(&object).get("s"), &mut causes);
    assert_eq!(shown(&causes), expect, "{object:?}");
}

/// The object with the value at each JSON pointer (RFC 6901) replaced, added or (`null`)
/// removed.
pub(crate) fn patched(object: &serde_json::Value, changes: &[(&str, serde_json::Value)]) -> Value {
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
            other => drop(
                other.as_object_mut().expect("an object").insert(key.to_owned(), value.clone()),
            ),
        }
    }
    object.into()
}

#[test]
fn selectors() {
    let check = |selector_value: serde_json::Value, expect: &[&str]| {
        let object = json!({"s": selector_value}).into();
        let mut causes = Vec::new();
        selector(&Field::root(&object).get("s"), &mut causes);
        assert_eq!(shown(&causes), expect);
    };
    check(json!({}), &[]);
    check(json!({"matchLabels": {"a": "b"}}), &[]);
    check(json!({"matchLabels": {"a b": "c"}}), &["Invalid s.matchLabels"]);
    let term = |key: &str, operator: &str, values: serde_json::Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    check(term("k", "In", json!(["v"])), &[]);
    check(term("k", "In", json!([])), &["Required s.matchExpressions[0].values"]);
    check(term("k", "Exists", json!(["v"])), &["Forbidden s.matchExpressions[0].values"]);
    check(term("k", "Is", json!(null)), &["Invalid s.matchExpressions[0].operator"]);
    check(term("", "Exists", json!(null)), &["Invalid s.matchExpressions[0].key"; 2]);
    check(term("k", "NotIn", json!(["-"])), &["Invalid s.matchExpressions[0].values[0]"]);
}

#[test]
fn templates() {
    let check =
        |value: serde_json::Value, expect: &[&str]| field_causes(template_metadata, value, expect);
    check(json!(null), &[]);
    check(json!({"labels": {"a": "b"}, "annotations": {"c": "d"}, "creationTimestamp": null}), &[]);
    check(
        json!({"labels": {"a b": "c"}, "annotations": {"a b": "c"}}),
        &["Invalid s.annotations", "Invalid s.labels"],
    );
    check(json!({"name": "x", "uid": "u"}), &["Forbidden s.name", "Forbidden s.uID"]);
}

#[test]
fn ports() {
    let check = |value: serde_json::Value, expect: usize| {
        let object = json!({"p": value}).into();
        let mut causes = Vec::new();
        port_or_name(&Field::root(&object).get("p"), &mut causes);
        assert_eq!(causes.len(), expect, "{object:?}");
    };
    for (value, expect) in [(json!(1), 0), (json!(65535), 0), (json!("http"), 0), (json!("a-1"), 0)]
    {
        check(value, expect);
    }
    for (value, expect) in [
        (json!(0), 1),
        (json!(65536), 1),
        (json!("80"), 1),
        (json!("Not_A_Name"), 1),
        (json!("-"), 2),
    ] {
        check(value, expect);
    }
}
