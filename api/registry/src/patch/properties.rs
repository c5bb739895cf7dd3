//! Property tests of JSON Patch and JSON Merge Patch against an independent library, on any
//! document and on objects of every kind.
//!
//! Invariants: both give the same result, and no patch makes either panic.
//!
//! Not here: `test` operations with `null`, because the library does not treat an absent member as
//! `null`.

#[path = "../../../wire/src/random.rs"]
mod random;

use std::sync::LazyLock;

use json_patch::Patch;
use proptest::prelude::*;
use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use serde_json::json;

use self::random::Random;
use super::{JsonPatch, merge};

static GRAPH: LazyLock<Graph> = LazyLock::new(|| Graph::builtin(Naming::Svc.names()));

/// Objects of each kind.
const SEEDS: u64 = 4;
/// Operations of each patch of an object.
const OPERATIONS: usize = 6;

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

/// Pointers that may exist; never to the whole document, which libraries treat in different ways.
fn pointer() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        key().prop_map(|key| key.replace('~', "~0").replace('/', "~1")),
        (0usize..4).prop_map(|index| index.to_string()),
        Just("-".to_owned()),
    ];
    proptest::collection::vec(step, 1..4)
        .prop_map(|steps| steps.iter().map(|step| format!("/{step}")).collect())
}

fn operation() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        (pointer(), document())
            .prop_map(|(path, value)| json!({"op": "add", "path": path, "value": value})),
        pointer().prop_map(|path| json!({"op": "remove", "path": path})),
        (pointer(), document())
            .prop_map(|(path, value)| json!({"op": "replace", "path": path, "value": value})),
        (pointer(), pointer())
            .prop_map(|(from, path)| json!({"op": "move", "from": from, "path": path})),
        (pointer(), pointer())
            .prop_map(|(from, path)| json!({"op": "copy", "from": from, "path": path})),
        (pointer(), document().prop_filter("absent or null", |value| !value.is_null()))
            .prop_map(|(path, value)| json!({"op": "test", "path": path, "value": value})),
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
        let expect = json_patch::patch_unsafe(&mut expect, &patch).is_ok().then_some(expect);
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

/// Runs a check on two random objects of every kind.
fn of_every_kind(check: impl Fn(&mut Random<'_>, serde_json::Value, serde_json::Value)) {
    for (number, kind) in (0u64..).zip(GRAPH.kinds()) {
        for seed in 0..SEEDS {
            let mut random = Random::new(&GRAPH, seed * 1000 + number);
            let [one, other] =
                [(); 2].map(|()| serde_json::to_value(random.object(kind.ty)).unwrap());
            check(&mut random, one, other);
        }
    }
}

/// Pointers to every value but the whole document.
fn pointers(document: &serde_json::Value, at: &str, found: &mut Vec<String>) {
    let steps: Vec<(String, &serde_json::Value)> = match document {
        serde_json::Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        serde_json::Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in steps {
        let own = format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"));
        pointers(value, &own, found);
        found.push(own);
    }
}

#[test]
fn merge_patches_of_every_kind_agree() {
    of_every_kind(|_, target, mut patch| {
        // Half of the common members are removed.
        let fields = patch.as_object_mut().unwrap();
        for (number, value) in fields.values_mut().enumerate().filter(|(number, _)| number % 2 == 0)
        {
            *value = if number % 4 == 0 { json!(null) } else { json!({"k": null}) };
        }
        let mut expect = target.clone();
        json_patch::merge(&mut expect, &patch);
        let mut found = Value::from(target);
        merge(&mut found, patch.into());
        assert_eq!(found, Value::from(expect));
    });
}

#[test]
fn json_patches_of_every_kind_agree() {
    of_every_kind(|random, target, other| {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        pointers(&target, "", &mut places);
        pointers(&other, "", &mut values);
        if places.is_empty() || values.is_empty() {
            return;
        }
        let operations: Vec<serde_json::Value> = (0..OPERATIONS)
            .map(|_| {
                let (path, from) =
                    (&places[random.index(places.len() as u64)], &places[random.index(places.len() as u64)]);
                let value = other.pointer(&values[random.index(values.len() as u64)]);
                match random.index(6) {
                    0 => json!({"op": "add", "path": path, "value": value}),
                    1 => json!({"op": "remove", "path": path}),
                    2 => json!({"op": "replace", "path": path, "value": value}),
                    3 => json!({"op": "move", "from": from, "path": path}),
                    4 => json!({"op": "copy", "from": from, "path": path}),
                    _ => {
                        let tested = target.pointer(path).filter(|value| !value.is_null());
                        json!({"op": "test", "path": path, "value": tested.unwrap_or(&json!(false))})
                    }
                }
            })
            .collect();
        for count in 1..=operations.len() {
            let document = serde_json::Value::from(operations[..count].to_vec());
            let patch: Patch = serde_json::from_value(document.clone()).unwrap();
            let mut expect = target.clone();
            let expect = json_patch::patch_unsafe(&mut expect, &patch).is_ok().then_some(expect);
            let mut found = Value::from(target.clone());
            let found = JsonPatch::parse(document.into())
                .unwrap()
                .apply(&mut found)
                .is_ok()
                .then_some(found);
            assert_eq!(found, expect.map(Value::from), "{:?}", &operations[..count]);
        }
    });
}
