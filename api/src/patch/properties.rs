//! JSON Patch and merge patch agree with an independent library on any document, and no patch makes either panic.

use json_patch::Patch;
use proptest::prelude::*;
use quorate_meta::Value;
use serde_json::json;

use super::{JsonPatch, merge};

/// Documents of a few keys, so that patches hit something.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        (-3i64..3).prop_map(serde_json::Value::from),
        "[a-c]{0,2}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map(key(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Keys, two of which have to be escaped in pointers.
fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]".prop_map(String::from), Just("x/y".to_owned()), Just("m~n".to_owned())]
}

/// Pointers to what there may be; never to the whole document, which libraries treat in different ways.
fn pointer() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        key().prop_map(|key| key.replace('~', "~0").replace('/', "~1")),
        (0usize..4).prop_map(|index| index.to_string()),
        Just("-".to_owned()),
    ];
    proptest::collection::vec(step, 1..4).prop_map(|steps| steps.iter().map(|step| format!("/{step}")).collect())
}

fn operation() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        (pointer(), document()).prop_map(|(path, value)| json!({"op": "add", "path": path, "value": value})),
        pointer().prop_map(|path| json!({"op": "remove", "path": path})),
        (pointer(), document()).prop_map(|(path, value)| json!({"op": "replace", "path": path, "value": value})),
        (pointer(), pointer()).prop_map(|(from, path)| json!({"op": "move", "from": from, "path": path})),
        (pointer(), pointer()).prop_map(|(from, path)| json!({"op": "copy", "from": from, "path": path})),
        (pointer(), document()).prop_map(|(path, value)| json!({"op": "test", "path": path, "value": value})),
    ]
}

proptest! {
    #[test]
    fn merge_patches_agree(target in document(), patch in document()) {
        let mut expect = target.clone();
        json_patch::merge(&mut expect, &patch);
        let mut found = Value::from(target);
        merge(&mut found, patch.into());
        prop_assert_eq!(found, Value::from(expect));
    }

    #[test]
    fn json_patches_agree(target in document(), operations in proptest::collection::vec(operation(), 1..5)) {
        let document = serde_json::Value::from(operations);
        let patch: Patch = serde_json::from_value(document.clone()).unwrap();
        let mut expect = target.clone();
        let expect = json_patch::patch(&mut expect, &patch).is_ok().then_some(expect);
        let mut found = Value::from(target);
        let found = JsonPatch::parse(document.into()).unwrap().apply(&mut found).is_ok().then_some(found);
        prop_assert_eq!(found, expect.map(Value::from));
    }

    #[test]
    fn no_document_is_too_odd_for_a_patch(target in document(), patch in document()) {
        let mut target = Value::from(target);
        if let Ok(patch) = JsonPatch::parse(patch.into()) {
            let _ = patch.apply(&mut target);
        }
    }
}
