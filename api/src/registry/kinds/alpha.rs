//! Fields of features that are off (document 002, "Feature gate lifecycle"): nothing comes of them, so nobody can set them.
//! An object that has them from elsewhere keeps them.

use quorate_meta::Value;

/// Takes fields out of an object, unless it replaces one that has them.
pub(super) fn drop_fields(paths: &[&[&str]], old: Option<&Value>, new: &mut Value) {
    let has = |object: &Value, path: &[&str]| object.at(path).is_some_and(|value| !value.is_null());
    for path in paths.iter().filter(|path| !old.is_some_and(|old| has(old, path))) {
        new.remove_at(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn new_ones_go_and_old_ones_stay() {
        let check = |old: Option<serde_json::Value>, expect: serde_json::Value| {
            let mut new = Value::from(json!({"spec": {"soon": 2, "now": 1}}));
            drop_fields(&[&["spec", "soon"]], old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(None, json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": null}})), json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": 1}})), json!({"spec": {"soon": 2, "now": 1}}));
    }
}
