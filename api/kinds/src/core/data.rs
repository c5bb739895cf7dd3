//! The data of ConfigMaps and Secrets: maps with valid keys and a limited size, and the `immutable`
//! field.

use quorate_meta::{Cause, Path, Value};

/// Bytes of all values of an object after base64 decoding, at most.
pub(super) const MAX_CONTENTS_BYTES: usize = 1024 * 1024;
/// Bytes of a key, at most.
const MAX_KEY_BYTES: usize = 253;

const KEY_FORM: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                        'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// Checks the keys of the map at `field`.
pub(super) fn check_keys(object: &Value, field: &str, causes: &mut Vec<Cause>) {
    let Some(map) = object.get(field).and_then(Value::as_map) else {
        return;
    };
    for key in map.keys() {
        for problem in key_problems(key) {
            causes.push(Cause::invalid(Path::from(field).key(key), key, &problem));
        }
    }
}

/// Why a text is no key of a ConfigMap or Secret.
pub(super) fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > MAX_KEY_BYTES {
        problems.push(format!("must be no more than {MAX_KEY_BYTES} characters"));
    }
    if key.is_empty()
        || !key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    {
        problems.push(KEY_FORM.to_owned());
    }
    match key {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// Bytes of the strings in the map at `field`.
pub(super) fn text_bytes(object: &Value, field: &str) -> usize {
    sizes(object, field, str::len)
}

/// Bytes of the base64 values in the map at `field`, decoded.
pub(super) fn base64_bytes(object: &Value, field: &str) -> usize {
    sizes(object, field, |text| text.trim_end_matches('=').len() * 3 / 4)
}

fn sizes(object: &Value, field: &str, size: impl Fn(&str) -> usize) -> usize {
    let map = object.get(field).and_then(Value::as_map);
    map.map_or(0, |map| map.values().filter_map(Value::as_str).map(size).sum())
}

/// Checks a change of an immutable object: `immutable` stays set and these fields do not change.
pub(super) fn check_immutable(old: &Value, new: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    const WHY: &str = "field is immutable when `immutable` is set";
    if old.get("immutable").and_then(Value::as_bool) != Some(true) {
        return;
    }
    if new.get("immutable").and_then(Value::as_bool) != Some(true) {
        causes.push(Cause::forbidden("immutable", WHY));
    }
    for field in fields {
        let empty = |value: Option<&Value>| value.is_none_or(Value::is_empty);
        let (before, after) = (old.get(field), new.get(field));
        if before != after && !(empty(before) && empty(after)) {
            causes.push(Cause::forbidden(*field, WHY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let check = |key: &str, expect: usize| assert_eq!(key_problems(key).len(), expect, "{key}");
        for fine in ["a", "A-b_c.d", "...x"[2..].trim(), ".hidden", "0"] {
            check(fine, 0);
        }
        for bad in ["", "a/b", "a b", "é", ".", "..", "..x"] {
            check(bad, 1);
        }
        check(&"k".repeat(253), 0);
        check(&"k".repeat(254), 1);
    }

    #[test]
    fn sizes_are_those_of_the_type() {
        let object = Value::from(
            serde_json::json!({"data": {"a": "xyz", "b": "é"}, "binaryData": {"a": "AAEC/w==", "b": ""}}),
        );
        assert_eq!(text_bytes(&object, "data"), 5);
        assert_eq!(base64_bytes(&object, "binaryData"), 4);
        assert_eq!(base64_bytes(&object, "none"), 0);
    }
}
