//! Tests of JSON Patch: the objects that result, and the patches that are refused.

use super::*;
use serde_json::json;

#[track_caller]
fn check(target: serde_json::Value, patch: serde_json::Value, expect: Option<serde_json::Value>) {
    let mut value = Value::from(target);
    let outcome = JsonPatch::parse(patch.into()).unwrap().apply(&mut value);
    assert_eq!(outcome.ok().map(|()| value), expect.map(Value::from));
}

#[test]
fn operations() {
    let add =
        |path: &str, value: serde_json::Value| json!([{"op": "add", "path": path, "value": value}]);
    check(json!({"a": 1}), add("/b", json!(2)), Some(json!({"a": 1, "b": 2})));
    check(json!({"a": 1}), add("/a", json!(null)), Some(json!({"a": null})));
    check(json!({"a": [1, 3]}), add("/a/1", json!(2)), Some(json!({"a": [1, 2, 3]})));
    check(json!({"a": [1]}), add("/a/-", json!(2)), Some(json!({"a": [1, 2]})));
    check(json!({"a": [1]}), add("/a/2", json!(2)), None);
    check(json!({}), add("/b/c", json!(2)), None);
    check(json!({"a": 1}), add("", json!([])), Some(json!([])));
    check(json!({"a": 1}), json!([{"op": "remove", "path": "/a"}]), Some(json!({})));
    check(json!({"a": 1}), json!([{"op": "remove", "path": "/b"}]), None);
    check(json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/0"}]), Some(json!({"a": [2]})));
    check(
        json!({"a": 1}),
        json!([{"op": "replace", "path": "/a", "value": {}}]),
        Some(json!({"a": {}})),
    );
    check(json!({"a": 1}), json!([{"op": "replace", "path": "/b", "value": 1}]), None);
    check(
        json!({"a": {"b": 1}}),
        json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
        Some(json!({"a": {}, "c": 1})),
    );
    check(json!({"a": {"b": 1}}), json!([{"op": "move", "from": "/a", "path": "/a/c"}]), None);
    check(json!({"a": [1, 2]}), add("/a/-1", json!(3)), Some(json!({"a": [1, 2, 3]})));
    check(json!({"a": [1, 2]}), add("/a/-3", json!(3)), Some(json!({"a": [3, 1, 2]})));
    check(json!({"a": [1, 2]}), add("/a/-4", json!(3)), None);
    check(
        json!({"a": [1, 2]}),
        json!([{"op": "remove", "path": "/a/-2"}]),
        Some(json!({"a": [2]})),
    );
    check(
        json!({"a": [1]}),
        json!([{"op": "replace", "path": "/a/-1", "value": 2}]),
        Some(json!({"a": [2]})),
    );
    check(json!({"a": [1]}), json!([{"op": "remove", "path": "/a/-2"}]), None);
    check(
        json!({"a": 1}),
        json!([{"op": "move", "from": "/a", "path": "/a"}]),
        Some(json!({"a": 1})),
    );
    check(
        json!({"a": 1}),
        json!([{"op": "copy", "from": "/a", "path": "/b"}]),
        Some(json!({"a": 1, "b": 1})),
    );
    check(json!({"a": 1}), json!([{"op": "copy", "from": "/c", "path": "/b"}]), None);
}

#[test]
fn copies_are_bounded_in_size_and_depth() {
    let copies = |count: usize, deeper: bool| {
        let path = |at: usize| {
            if deeper { "/a".repeat(at + 1) } else { format!("/{at}") }
        };
        let copies = (0..count).map(|at| json!({"op": "copy", "from": "", "path": path(at)}));
        let mut value = Value::from(json!({"text": "x".repeat(64)}));
        JsonPatch::parse(copies.collect::<serde_json::Value>().into())
            .unwrap()
            .apply(&mut value)
            .map(|()| measure(&value).depth)
    };
    assert_eq!(copies(8, false), Ok(9));
    assert_eq!(copies(5, true), Ok(16));
    assert!(copies(64, false).is_err() && copies(64, true).is_err());
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let nest = |levels: usize| json!([{"op": "add", "path": "/a", "value": deep(levels)}]);
    let patched = |patch: serde_json::Value| {
        JsonPatch::parse(patch.into()).unwrap().apply(&mut json!({}).into())
    };
    assert!(patched(nest(MAX_DEPTH - 1)).is_ok() && patched(nest(MAX_DEPTH)).is_err());
}

#[test]
fn what_moves_aside_is_bounded() {
    const LENGTH: usize = MAX_SHIFTED / 64;
    let patched = |operation: serde_json::Value, target: serde_json::Value, count: usize| {
        let patch = JsonPatch::parse(Value::List(vec![operation.into(); count])).unwrap();
        patch.apply(&mut target.into()).map_err(|rejected| rejected.index)
    };
    let list = || json!({"a": vec![0; LENGTH]});
    let first = json!({"op": "add", "path": "/a/0", "value": 0});
    assert_eq!(patched(first, list(), 65), Err(63));
    assert_eq!(patched(json!({"op": "remove", "path": "/a/0"}), list(), 65), Err(64));
    assert_eq!(patched(json!({"op": "add", "path": "/a/-", "value": 0}), list(), 65), Ok(()));
    assert_eq!(patched(json!({"op": "move", "from": "/a/0", "path": "/a/1"}), list(), 65), Err(32));
    let heads = (1..=65)
        .map(|turn| json!({"op": "add", "path": format!("/a/-{}", LENGTH + turn), "value": 0}));
    let patch = JsonPatch::parse(Value::List(heads.map(Value::from).collect())).unwrap();
    assert_eq!(patch.apply(&mut list().into()).map_err(|rejected| rejected.index), Err(63));
    let map =
        || (0..LENGTH).map(|at| (format!("k{at:07}"), json!(0))).collect::<serde_json::Map<_, _>>();
    let turns = |count: usize| {
        let pair =
            [json!({"op": "add", "path": "/b", "value": 0}), json!({"op": "remove", "path": "/b"})];
        let all = pair.map(Value::from).into_iter().cycle().take(2 * count).collect();
        let patch = JsonPatch::parse(Value::List(all)).unwrap();
        patch.apply(&mut Value::from(json!(map()))).map_err(|rejected| rejected.index)
    };
    assert_eq!((turns(32), turns(33)), (Ok(()), Err(64)));
}

#[test]
fn tests_compare_values() {
    let test = |path: &str, value: serde_json::Value| json!([{"op": "test", "path": path, "value": value}]);
    check(
        json!({"a": {"x": 1, "y": [2]}}),
        test("/a", json!({"y": [2.0], "x": 1})),
        Some(json!({"a": {"x": 1, "y": [2]}})),
    );
    check(json!({"a": {"x": 1, "y": 2}}), test("/a", json!({"x": 1})), None);
    check(json!({"a": 1}), test("/b", json!(1)), None);
    check(json!({"a": null}), json!([{"op": "test", "path": "/a"}]), Some(json!({"a": null})));
    check(json!({"a": 1}), test("/b", json!(null)), Some(json!({"a": 1})));
    check(json!({"a": 1}), test("/a", json!(null)), None);
    check(json!({"a": 1}), test("/b/c", json!(null)), None);
    check(json!({"a": [1]}), test("/a/1", json!(null)), None);
}

#[test]
fn nonsense_is_rejected_when_applied() {
    for operation in [
        json!({"op": "dance", "path": "/a"}),
        json!({"op": "add", "path": "/a"}),
        json!({"op": "remove"}),
        json!({"op": "remove", "path": "a"}),
    ] {
        check(json!({"a": 1}), json!([operation]), None);
    }
}

#[test]
fn what_is_no_list_of_objects_is_malformed() {
    for document in [json!({"op": "remove", "path": "/a"}), json!("x"), json!([1])] {
        assert!(matches!(JsonPatch::parse(document.into()), Err(Malformed::Shape { .. })));
    }
    let many = Value::List(vec![json!({}).into(); MAX_OPERATIONS + 1]);
    assert_eq!(JsonPatch::parse(many), Err(Malformed::TooMany(10_001)));
}

#[test]
fn paths_that_are_too_deep_name_nothing() {
    let path = "/a".repeat(1_000_000);
    let patch =
        json!([{"op": "add", "path": path, "value": 1}, {"op": "add", "path": "/b", "value": 2}]);
    let patch = JsonPatch::parse(patch.into()).unwrap();
    assert_eq!(patch.named(), json!({"b": 2}).into());
    assert_eq!(patch.apply(&mut json!({}).into()), Err(Rejected { index: 0 }));
}

#[test]
fn what_moves_aside_for_names_is_bounded() {
    const LENGTH: usize = MAX_NAMED_SHIFTED / 100;
    let add = |path: &str, value: Value| Operation::Add(Pointer::parse(path).unwrap(), value);
    let keys: Map = (0..LENGTH).map(|at| (format!("z{at:07}"), Value::Null)).collect();
    let mut operations = vec![add("/m", Value::Map(keys))];
    operations.extend((0..101).map(|at| add(&format!("/m/a{at:03}/x"), Value::Null)));
    let named = JsonPatch { operations, unknown: Vec::new() }.named();
    assert_eq!(named.get("m").and_then(Value::as_map).map(Map::len), Some(LENGTH + 100));
}

#[test]
fn unknown_members_are_named() {
    let patch = json!([{"op": "test", "path": "", "because": 1}, {"op": "remove", "path": "/a", "x": 1, "from": ""}]);
    assert_eq!(JsonPatch::parse(patch.into()).unwrap().unknown_members(), ["[0].because", "[1].x"]);
}

#[test]
fn why_an_operation_cannot_be_carried_out() {
    let check = |operation: serde_json::Value, expect: &str| {
        let patch = JsonPatch::parse(json!([operation]).into()).unwrap();
        let mut target = json!({"a": 1}).into();
        let rejected = patch.apply(&mut target).unwrap_err();
        assert_eq!(patch.explain(rejected), expect);
    };
    let missing = |operation: &str| {
        format!("{operation} operation does not apply: doc is missing path: /b/c~1d: missing value")
    };
    for (operation, value) in [("add", true), ("remove", false), ("replace", true)] {
        let mut asked = json!({"op": operation, "path": "/b/c~1d"});
        if value {
            asked["value"] = json!("x");
        }
        check(asked, &missing(operation));
    }
    check(json!({"op": "move", "from": "/b/c~1d", "path": "/e"}), &missing("move"));
    check(json!({"op": "test", "path": "/a", "value": 2}), "testing value /a failed: test failed");
    check(json!({"op": "twist", "path": "/a"}), "operation 0 is not valid");
}
