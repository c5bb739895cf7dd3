//! Properties of every sequence of applies: idempotent, commutative for distinct fields, and
//! without a trace after all fields are given up.

use proptest::prelude::*;
use quorate_meta::Value;

use super::Object;
use super::lists::POD;
use crate::testing::text;

/// A random body with some of a few keys, labels, finalizers and containers.
fn body() -> impl Strategy<Value = String> {
    let texts = proptest::collection::btree_map("[a-d]", "[0-2]", 0..4);
    let container = ("[a-c]", proptest::option::of("[0-2]"), proptest::option::of("[0-2]"));
    let containers = proptest::collection::vec(container, 0..3);
    (texts, proptest::collection::btree_set("x/[a-c]", 0..3), containers).prop_map(
        |(labels, finalizers, containers)| {
            let mut seen = std::collections::BTreeSet::new();
            let containers: Vec<String> = containers
                .into_iter()
                .filter(|(name, ..)| seen.insert(name.clone()))
                .map(|(name, image, dir)| {
                    let field = |key: &str, value: Option<String>| {
                        value.map(|value| format!(r#","{key}":"{value}""#)).unwrap_or_default()
                    };
                    format!(
                        r#"{{"name":"{name}"{}{}}}"#,
                        field("image", image),
                        field("workingDir", dir)
                    )
                })
                .collect();
            let labels = labels.iter().map(|(key, value)| format!(r#""{key}":"{value}""#));
            // A label that every body has, because an empty configuration has no entry.
            let labels: Vec<String> = labels.chain([r#""every":"body""#.to_owned()]).collect();
            let finalizers: Vec<String> =
                finalizers.iter().map(|value| format!(r#""{value}""#)).collect();
            let part = |begin: &str, parts: Vec<String>, end: &str| match parts.is_empty() {
                true => String::new(),
                false => [begin, &parts.join(","), end].concat(),
            };
            let labels = part(r#","labels":{"#, labels, "}");
            let finalizers = part(r#","finalizers":["#, finalizers, "]");
            let containers = part(r#","spec":{"containers":["#, containers, "]}");
            format!(r#"{{"metadata":{{"name":"p"{labels}{finalizers}}}{containers}}}"#)
        },
    )
}

/// The object without times and without the order of lists that have none.
fn shape(object: &Object) -> (Value, Vec<String>) {
    let mut live = object.live.clone().expect("applied");
    let owners = live.remove_at(&["metadata", "managedFields"]);
    let mut lines: Vec<String> = owners
        .as_ref()
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .map(|entry| {
            format!(
                "{} {}",
                entry.str_at(&["manager"]).unwrap_or_default(),
                text(&entry.get("fieldsV1").cloned().unwrap_or_default())
            )
        })
        .collect();
    lines.sort();
    for path in [&["spec", "containers"][..], &["metadata", "finalizers"]] {
        if let Some(list) = live.at_mut(path).and_then(Value::as_list_mut) {
            list.sort_by_cached_key(text);
        }
    }
    (live, lines)
}

/// The same body with other names, without a common field.
fn elsewhere(body: &str) -> String {
    let mut text = body.to_owned();
    for (from, to) in [("a", "p"), ("b", "q"), ("c", "r"), ("d", "s")] {
        text = text
            .replace(&format!("\"{from}\""), &format!("\"{to}\""))
            .replace(&format!("x/{from}"), &format!("x/{to}"));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn applying_again_changes_nothing(first in body(), second in body(), third in body()) {
        let mut object = Object::new(POD);
        for (manager, body) in [("a", &first), ("b", &second), ("a", &third)] {
            object.force(manager, body);
            let before = object.live.clone();
            object.apply(manager, body);
            prop_assert_eq!(&object.live, &before);
        }
    }

    #[test]
    fn applies_of_different_fields_commute(first in body(), second in body(), then in body()) {
        let (second, mut one, mut other) = (elsewhere(&second), Object::new(POD), Object::new(POD));
        one.apply("a", &first).apply("b", &second).apply("a", &then);
        other.apply("b", &second).apply("a", &first).apply("a", &then);
        prop_assert_eq!(shape(&one), shape(&other));
    }

    #[test]
    fn who_applies_owns_and_who_gives_up_leaves_nothing(first in body(), second in body()) {
        let mut object = Object::new(POD);
        object.force("a", &first).force("b", &second);
        object.apply("a", r#"{"metadata":{"name":"p"}}"#).apply("b", r#"{"metadata":{"name":"p"}}"#);
        let mut alone = Object::new(POD);
        alone.apply("c", r#"{"metadata":{"name":"p"}}"#);
        prop_assert_eq!(shape(&object), shape(&alone));
    }
}
