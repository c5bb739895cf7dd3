//! JSON Merge Patch (RFC 7386).
//!
//! Invariant: no merge patch is refused here; a result that is no valid object is refused later.

use std::convert::Infallible;

use quorate_meta::{Map, Value};

/// Applies `patch` to `target`: objects are merged, `null` removes, everything else replaces.
pub fn merge(target: &mut Value, patch: Value) {
    let Value::Map(patch) = patch else {
        *target = patch;
        return;
    };
    if target.as_map().is_none() {
        *target = Value::Map(Map::new());
    }
    let Some(map) = target.as_map_mut() else {
        return;
    };
    let merged = map.merge_with(patch, |_, before, change| {
        if change.is_null() {
            return Ok(None);
        }
        let mut value = before.unwrap_or_default();
        merge(&mut value, change);
        Ok::<_, Infallible>(Some(value))
    });
    merged.unwrap_or_else(|never| match never {});
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(target: serde_json::Value, patch: serde_json::Value, expect: serde_json::Value) {
        let mut value = Value::from(target);
        merge(&mut value, patch.into());
        assert_eq!(value, expect.into());
    }

    #[test]
    fn the_examples_of_the_standard() {
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        );
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"]));
        check(json!({"a": "foo"}), json!(null), json!(null));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
    }
}
