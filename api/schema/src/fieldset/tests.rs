//! Sets of real objects, their serialized form, and the laws of sets.

use proptest::prelude::*;

use super::*;
use crate::testing::{graph, json, text, ty};

#[test]
fn members_of_an_applied_object() {
    let graph = graph();
    let check = |name: &str, body: &str, expect: &str| {
        let set = members(&graph, ty(&graph, name), &json(body));
        assert_eq!(text(&set.encode()), expect);
    };
    check(
        "core/v1.ConfigMap",
        r#"{"data":{"a":"1","b":"1"},"metadata":{"finalizers":["example.com/b","example.com/a"],"labels":{"y":"1"}}}"#,
        r#"{"f:data":{"f:a":{},"f:b":{}},"f:metadata":{"f:finalizers":{"v:\"example.com/a\"":{},"v:\"example.com/b\"":{}},"f:labels":{"f:y":{}}}}"#,
    );
    check(
        "core/v1.PodSpec",
        r#"{"containers":[{"name":"d","image":"i"},{"name":"c","args":["x"],"ports":[{"name":"x","containerPort":80}]}],"nodeSelector":{"a":"b"}}"#,
        r#"{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:args":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}}},"k:{\"name\":\"d\"}":{".":{},"f:image":{},"f:name":{}}},"f:nodeSelector":{}}"#,
    );
}

#[test]
fn differences() {
    let graph = graph();
    let check = |old: &str, new: &str, [added, modified, removed]: [&str; 3]| {
        let found = compare(&graph, ty(&graph, "core/v1.ConfigMap"), &json(old), &json(new));
        assert_eq!(text(&found.added.encode()), added, "added");
        assert_eq!(text(&found.modified.encode()), modified, "modified");
        assert_eq!(text(&found.removed.encode()), removed, "removed");
        assert_eq!(found.is_same(), old == new);
    };
    check(r#"{"data":{"k":"v"}}"#, r#"{"data":{"k":"v"}}"#, ["{}", "{}", "{}"]);
    check(
        "{}",
        r#"{"data":{"k":"v"},"immutable":true}"#,
        [r#"{"f:data":{".":{},"f:k":{}},"f:immutable":{}}"#, "{}", "{}"],
    );
    check(
        r#"{"data":{"k":"v","l":"v"}}"#,
        r#"{"data":{"k":"w","m":"v"}}"#,
        [r#"{"f:data":{"f:m":{}}}"#, r#"{"f:data":{"f:k":{}}}"#, r#"{"f:data":{"f:l":{}}}"#],
    );
    check(r#"{"data":{"k":"v"}}"#, "{}", ["{}", "{}", r#"{"f:data":{".":{},"f:k":{}}}"#]);
    let owners = |names: &str| format!(r#"{{"metadata":{{"ownerReferences":[{names}]}}}}"#);
    check(
        &owners(r#"{"name":"a","uid":"1"}"#),
        &owners(r#"{"name":"b","uid":"1"},{"name":"c","uid":"2"}"#),
        [
            r#"{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"2\"}":{}}}}"#,
            r#"{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"1\"}":{}}}}"#,
            "{}",
        ],
    );
}

#[test]
fn written_form_is_read_strictly() {
    let check =
        |body: &str, good: bool| assert_eq!(FieldSet::decode(&json(body)).is_ok(), good, "{body}");
    check("{}", true);
    check(r#"{"f:a":{".":{},"k:{\"b\":1,\"a\":2}":{}},"i:3":{}}"#, true);
    check("[]", false);
    check(r#"{"x:a":{}}"#, false);
    check(r#"{"f:a":1}"#, false);
    check(r#"{"k:[]":{}}"#, false);
    let set = FieldSet::decode(&json(r#"{"k:{\"b\":1, \"a\":2}":{}}"#)).expect("a set");
    assert_eq!(text(&set.encode()), r#"{"k:{\"a\":2,\"b\":1}":{}}"#, "keys are sorted");
    assert_eq!(set.paths()[0][0].to_string(), "[a=2,b=1]");
}

#[test]
fn long_paths_are_shown_by_their_end() {
    let check = |last: Element, expect: &str| {
        let set: FieldSet = [[Element::field("data"), last]].into_iter().collect();
        assert_eq!(set.trails()[0].to_string(), expect);
    };
    check(Element::field("k"), ".data.k");
    let fits = "n".repeat(1018);
    check(Element::field(&fits), &format!(".data.{fits}"));
    check(Element::field(&format!("n{fits}")), &format!("...data.n{fits}"));
    check(Element::field(&format!("{}x", "é".repeat(1000))), &format!("...{}x", "é".repeat(511)));
    let long = "é".repeat(1 << 16);
    check(Element::field(&long), &format!("...{}", "é".repeat(512)));
    check(Element::value(&long.as_str().into()), &format!("...{}\"]", "é".repeat(511)));
    check(Element::keys(&[("name", long.as_str())].into()), &format!("...{}\"]", "é".repeat(511)));
}

#[test]
fn paths_are_looked_up_in_other_sets() {
    let set = FieldSet::of_fields(&["a", "a.b", "c.d", "c.e"]);
    let check = |other: &[&str], expect: &[bool]| {
        let other = FieldSet::of_fields(other);
        let (trails, mut lookup) = (set.trails(), Lookup::new(&other));
        let found: Vec<bool> = trails.iter().map(|trail| lookup.has(trail)).collect();
        assert_eq!(found, expect);
    };
    check(&[], &[false; 4]);
    check(&["a", "a.b", "c.d", "c.e"], &[true; 4]);
    check(&["a.b", "c"], &[false, true, false, false]);
    check(&["a.b.c", "c.e"], &[false, false, false, true]);
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        "[a-c]{1,2}".prop_map(|name| Element::field(&name)),
        "[a-c.:\"]{1,2}".prop_map(|value| Element::value(&value.into())),
        (0i64..3).prop_map(|port| Element::keys(&[("port", port)].into())),
    ]
}

fn set() -> impl Strategy<Value = FieldSet> {
    let path = proptest::collection::vec(element(), 1..4);
    proptest::collection::vec(path, 0..8).prop_map(|paths| paths.into_iter().collect())
}

proptest! {
    #[test]
    fn written_form_round_trips(set in set()) {
        prop_assert_eq!(FieldSet::decode(&set.encode()), Ok(set.clone()));
        let again: FieldSet = set.paths().into_iter().collect();
        prop_assert_eq!(again, set);
    }

    #[test]
    fn laws_of_sets(left in set(), right in set()) {
        let both = left.intersection(&right);
        prop_assert_eq!(&both, &right.intersection(&left));
        prop_assert_eq!(left.difference(&right).union(&both), left.clone());
        prop_assert!(left.difference(&right).intersection(&right).is_empty());
        prop_assert_eq!(left.clone().union(&right).len(), left.len() + right.len() - both.len());
        prop_assert!(left.difference_recursive(&right).len() <= left.difference(&right).len());
    }
}

#[test]
fn fields_are_taken_out_alone() {
    let check = |message: Option<&str>, names: &[&str], expect: &[&str]| {
        let mut set = FieldSet::of_fields(&["a", "a.b", "c.d"]);
        let paths: Vec<String> = match message {
            None => names.iter().map(|name| (*name).to_owned()).collect(),
            Some(message) => names.iter().map(|name| format!("{message}.{name}")).collect(),
        };
        match message {
            None => set.remove_fields(names),
            Some(message) => set.within(message, |set| set.remove_fields(names)),
        }
        assert_eq!(set, FieldSet::of_fields(expect), "{message:?} {names:?}");
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(
            set,
            FieldSet::of_fields(&["a", "a.b", "c.d"]).difference(&FieldSet::of_fields(&paths))
        );
    };
    check(None, &["a"], &["a.b", "c.d"]);
    check(Some("a"), &["b", "x"], &["a", "c.d"]);
    check(Some("c"), &["d"], &["a", "a.b"]);
    check(None, &["c"], &["a", "a.b", "c.d"]);
    check(Some("x"), &["y"], &["a", "a.b", "c.d"]);
    check(None, &["a", "c", "x"], &["a.b", "c.d"]);
}
