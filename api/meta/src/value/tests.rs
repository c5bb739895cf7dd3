//! Tests of the tree: map order, duplicates, number identity, paths.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn value(json: serde_json::Value) -> Value {
    Value::from(json)
}

#[test]
fn from_entries_sorts_and_the_last_duplicate_wins() {
    let entries = [("b", 1), ("a", 2), ("b", 3), ("a", 4), ("c", 5), ("b", 6)];
    let entries = entries
        .into_iter()
        .map(|(key, number)| (SmolStr::from(key), Value::from(number)))
        .collect();
    let (map, duplicates) = Map::from_entries(entries);
    assert_eq!(Value::Map(map), value(json!({"a": 4, "b": 6, "c": 5})));
    assert_eq!(duplicates, ["a", "b"]);
}

#[test]
fn numbers_have_one_representation() {
    assert_eq!(Value::from(7u64), Value::Int(7));
    assert_eq!(Value::from(u64::MAX), Value::UInt(u64::MAX));
    assert_eq!(Value::from(u64::MAX).as_u64(), Some(u64::MAX));
    assert_eq!(value(json!(9_223_372_036_854_775_808u64)), Value::UInt(1 << 63));
    assert_eq!(Value::Int(-1).as_u64(), None);
    assert_eq!(value(json!(1.0)), Value::Float(1.0));
}

#[test]
fn paths() {
    let mut tree = value(json!({"a": {"b": [1, {"c": "x"}]}, "n": null}));
    let steps = [PathStep::from("a"), "b".into(), 1.into(), "c".into()];
    assert_eq!(tree.lookup(&steps).and_then(Value::as_str), Some("x"));
    assert!(tree.set_at(&["n", "m", "k"], "v"));
    assert_eq!(tree.str_at(&["n", "m", "k"]), Some("v"));
    assert!(!tree.set_at(&["a", "b", "c"], 1));
    assert_eq!(tree.remove_at(&["n", "m", "k"]), Some(Value::from("v")));
    assert_eq!(tree.remove_at(&["n", "x", "k"]), None);
    assert_eq!(tree.at(&["n", "m"]).map(Value::is_empty), Some(true));
}

#[test]
fn serde_refuses_duplicates() {
    let error = serde_json::from_str::<Value>(r#"{"a":1,"b":2,"a":3}"#).unwrap_err();
    assert!(error.to_string().starts_with("duplicate key \"a\""), "{error}");
}

proptest! {
    #[test]
    fn map_behaves_like_a_btree(operations in proptest::collection::vec((0u8..3, "[a-e]{0,2}", 0i64..9), 0..60)) {
        let mut map = Map::new();
        let mut model = std::collections::BTreeMap::new();
        for (operation, key, number) in operations {
            match operation {
                0 => prop_assert_eq!(map.insert(key.as_str(), number), model.insert(key.clone(), Value::Int(number))),
                1 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                _ => prop_assert_eq!(map.get(&key), model.get(&key)),
            }
            prop_assert!(map.iter().eq(model.iter().map(|(key, value)| (key.as_str(), value))));
        }
    }
}

#[test]
fn merging_walks_both_maps_in_order() {
    let map = |keys: &[(&str, i64)]| keys.iter().copied().collect::<Map>();
    let check = |changes: &[(&str, i64)], expect: &[(&str, i64)]| {
        let mut merged = map(&[("b", 1), ("d", 2), ("f", 3)]);
        let sum = |old: Option<Value>, new: &Value| {
            old.and_then(|old| old.as_i64()).unwrap_or(0) + new.as_i64().unwrap_or(0)
        };
        let merge = |_: &str, old, new: Value| {
            Ok::<_, ()>(Some(Value::Int(sum(old, &new))).filter(|sum| *sum != Value::Int(0)))
        };
        merged.merge_with(map(changes), merge).unwrap();
        assert_eq!(merged, map(expect), "{changes:?}");
    };
    check(&[], &[("b", 1), ("d", 2), ("f", 3)]);
    check(&[("a", 7), ("d", 5), ("g", 8)], &[("a", 7), ("b", 1), ("d", 7), ("f", 3), ("g", 8)]);
    check(&[("b", -1), ("c", 0), ("f", -3)], &[("d", 2)]);
}

#[test]
fn entries_of_another_map_win_or_fill_gaps() {
    type Entries<'a> = &'a [(&'a str, i64)];
    let check =
        |own: Entries<'_>, others: Entries<'_>, merged: Entries<'_>, filled: Entries<'_>| {
            let map = |entries: Entries<'_>| entries.iter().copied().collect::<Map>();
            let mut found = [map(own), map(own)];
            found[0].merge(map(others));
            found[1].add_missing(map(others));
            assert_eq!(found, [map(merged), map(filled)], "{own:?} {others:?}");
        };
    check(&[], &[("a", 1)], &[("a", 1)], &[("a", 1)]);
    check(&[("a", 1)], &[], &[("a", 1)], &[("a", 1)]);
    check(
        &[("b", 1), ("d", 1)],
        &[("a", 2), ("b", 2), ("e", 2)],
        &[("a", 2), ("b", 2), ("d", 1), ("e", 2)],
        &[("a", 2), ("b", 1), ("d", 1), ("e", 2)],
    );
}
