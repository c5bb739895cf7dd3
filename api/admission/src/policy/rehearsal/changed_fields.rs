//! Changed fields: where two forms of an object differ, as JSON pointers (RFC 6901).
//!
//! Invariants: a field that is added or removed is named, not what is below it; lists are compared
//! by place; at most [`FIELDS_MAX`] fields are named, and then that there are more.

use std::collections::BTreeSet;

use quorate_meta::{Map, Value};

/// Fields that are named.
const FIELDS_MAX: usize = 8;

/// The fields of which the values differ.
pub(super) fn changed_fields(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(&mut String::new(), old, new, &mut found);
    if found.len() > FIELDS_MAX {
        found.truncate(FIELDS_MAX);
        found.push("and more".to_owned());
    }
    found
}

/// Adds what differs at a place, until one more than is named is known.
fn compare(place: &mut String, old: &Value, new: &Value, found: &mut Vec<String>) {
    if found.len() > FIELDS_MAX || old == new {
        return;
    }
    match (old, new) {
        (Value::Map(old), Value::Map(new)) => compare_maps(place, old, new, found),
        (Value::List(old), Value::List(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                below(place, &index.to_string(), |place| compare(place, old, new, found));
            }
        }
        _ => found.push(place.clone()),
    }
}

fn compare_maps(place: &mut String, old: &Map, new: &Map, found: &mut Vec<String>) {
    let fields: BTreeSet<&str> = old.iter().chain(new.iter()).map(|(field, _)| field).collect();
    for field in fields {
        below(place, field, |place| match (old.get(field), new.get(field)) {
            (Some(old), Some(new)) => compare(place, old, new, found),
            _ => found.push(place.clone()),
        });
    }
}

/// Goes one step down, and back.
fn below(place: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = place.len();
    place.push('/');
    place.push_str(&step.replace('~', "~0").replace('/', "~1"));
    then(place);
    place.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[track_caller]
    fn check(old: Json, new: Json, expect: &[&str]) {
        assert_eq!(changed_fields(&old.into(), &new.into()), expect);
    }

    #[test]
    fn fields_that_differ_are_named() {
        let pod =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x"}]}});
        check(pod.clone(), pod.clone(), &[]);
        check(
            pod.clone(),
            json!({"metadata": {"labels": {"a": "c", "d/e~f": "g"}}, "spec": {"containers": [{"name": "y"}]}}),
            &["/metadata/labels/a", "/metadata/labels/d~1e~0f", "/spec/containers/0/name"],
        );
        check(
            pod.clone(),
            json!({"metadata": {}, "spec": {"containers": []}}),
            &["/metadata/labels", "/spec/containers"],
        );
        check(pod, json!(null), &[""]);
    }

    #[test]
    fn the_names_are_bounded() {
        let many = |value: i64| -> Json {
            (0..100).map(|key| (format!("k{key:02}"), json!(value))).collect()
        };
        let found = changed_fields(&many(1).into(), &many(2).into());
        assert_eq!(found.len(), FIELDS_MAX + 1);
        assert_eq!(found.last().map(String::as_str), Some("and more"));
    }
}
