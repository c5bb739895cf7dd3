//! Tests of declarative validation.

use std::path::Path;

use quorate_meta::{Naming, Value};
use serde_json::{Value as Json, json};

use super::*;
use crate::graph::{DeclaredRule, Graph, Shape, TypeDef};

const IDL: &str = "\
group test/v1

type T object -- A type.
  1 metadata meta/v1.ObjectMeta always rules=subfield:name:format:long-name -- x
  2 needed string rules=required;format:short-name -- x
  3 number int32 rules=optional;minimum:1 -- x
  4 few []string atomic rules=optional;maxItems:2;unique -- x
  5 fixed string rules=immutable -- x
  6 once string? rules=optional;noModify -- x
  7 word string enum=A|B rules=optional;enum -- x
  8 short string rules=optional;maxLength:3 -- x
  9 items []Item atomic rules=optional;unique:name -- x
  10 map {}Item -- x
  11 id string? rules=optional;format:uuid -- x
  12 pool string rules=optional;format:resource-pool-name -- x
  13 full string rules=optional;format:resource-fully-qualified-name -- x
  14 extended string? rules=optional;format:extended-resource-name -- x
  15 conditions []Item map(name) rules=optional;atMostOneOf:name:Approved,Denied -- x

type Item -- An item.
  1 name string rules=required -- x
  2 a string? rules=optional;unionMember -- x
  3 b string? rules=optional;unionMember -- x
";

fn graph() -> Graph {
    let meta = crate::idl::FILES.into_iter().find(|(name, _)| *name == "meta_v1.idl").unwrap();
    Graph::load(Naming::Svc.names(), &[meta, ("test_v1.idl", IDL)]).unwrap()
}

/// What is wrong with an object, or its change: kind of failure and field.
#[track_caller]
fn check_change(old: Option<Json>, new: Json, expect: &[&str]) {
    let graph = graph();
    let ty = graph.type_named("test/v1.T").unwrap().id;
    let found = check(&graph, ty, old.map(Value::from).as_ref(), &Value::from(new.clone()));
    let found: Vec<_> = found
        .iter()
        .map(|one| {
            format!("{} {}", one.reason.as_str().trim_start_matches("FieldValue"), one.field)
        })
        .collect();
    assert_eq!(found, expect, "{new}");
}

/// The same for a new object that has what it needs.
#[track_caller]
fn check_new(mut object: Json, expect: &[&str]) {
    if object.get("needed").is_none() {
        object["needed"] = "a".into();
    }
    check_change(None, object, expect);
}

fn item(name: &str) -> Json {
    json!({"name": name, "a": "x"})
}

#[test]
fn fields_of_new_objects() {
    check_new(json!({}), &[]);
    check_new(json!({"metadata": {"name": "A"}}), &["Invalid metadata.name"]);
    check_new(json!({"needed": ""}), &["Required needed"]);
    check_new(json!({"needed": "A"}), &["Invalid needed"]);
    check_new(json!({"number": 0}), &[]);
    check_new(json!({"number": -1}), &["Invalid number"]);
    check_new(json!({"few": ["a", "a"]}), &["Duplicate few[1]"]);
    // Too many: nothing else is looked at.
    check_new(json!({"few": ["a", "a", "a"]}), &["TooMany few"]);
    check_new(json!({"word": "B"}), &[]);
    check_new(json!({"word": "C"}), &["NotSupported word"]);
    check_new(json!({"short": "abcd"}), &["TooLong short"]);
    check_new(json!({"items": [item("a"), item("b"), item("a")]}), &["Duplicate items[2]"]);
    check_new(json!({"items": [{"a": "x"}]}), &["Required items[0].name"]);
    check_new(json!({"map": {"k.l": {"a": "x"}}}), &["Required map[k.l].name"]);
}

#[test]
fn exactly_one_member_of_a_union() {
    check_new(json!({"items": [{"name": "n"}]}), &["Invalid items[0]"]);
    check_new(json!({"items": [{"name": "n", "b": ""}]}), &[]);
    check_new(json!({"items": [{"name": "n", "a": "x", "b": "y"}]}), &["Invalid items[0]"]);
    check_new(json!({"conditions": [item("Approved"), item("Other")]}), &[]);
    check_new(json!({"conditions": [item("Approved"), item("Denied")]}), &["Invalid conditions"]);
}

#[test]
fn forms_of_texts() {
    let id = "0123abcd-0000-1111-2222-333344445555";
    check_new(json!({"id": id}), &[]);
    for bad in [&id[1..], &id.to_uppercase(), &id.replace('-', "0")] {
        check_new(json!({"id": bad}), &["Invalid id"]);
    }
    check_new(json!({"pool": "a/b.c"}), &[]);
    check_new(json!({"pool": "a//b"}), &["Invalid pool"]);
    check_new(json!({"full": "example.com/a_1"}), &[]);
    for bad in ["a", "/a", "a/", "example.com/1a", "example.com/a-b"] {
        check_new(json!({"full": bad}), &["Invalid full"]);
    }
    check_new(json!({"extended": "example.com/gpu"}), &[]);
    for bad in ["gpu", "svc.io/gpu", "requests.example.com/gpu"] {
        check_new(json!({"extended": bad}), &["Invalid extended"]);
    }
}

#[test]
fn changes() {
    let with = |field: &str, value: Json| json!({"needed": "a", field: value});
    let check = |field: &str, old: Json, new: Json, expect: &[&str]| {
        check_change(Some(with(field, old)), with(field, new), expect);
    };
    check("fixed", "a".into(), "a".into(), &[]);
    check("fixed", "a".into(), "b".into(), &["Invalid fixed"]);
    check("once", json!(null), "b".into(), &[]);
    check("once", "a".into(), json!(null), &[]);
    check("once", "a".into(), "b".into(), &["Invalid once"]);
    // What was wrong and has not changed is not told again.
    check("number", json!(-1), json!(-1), &[]);
    check("number", json!(-1), json!(-2), &["Invalid number"]);
    let bad = json!({"name": "", "a": "x"});
    check("items", json!([bad]), json!([item("n"), bad]), &[]);
    let changed = json!({"name": "", "b": "x"});
    check("map", json!({"k": bad}), json!({"k": changed}), &[]);
    check("map", json!({"k": bad}), json!({"l": changed}), &["Required map[l].name"]);
}

#[test]
fn results_are_compared() {
    let graph = graph();
    let ty = graph.type_named("test/v1.T").unwrap().id;
    let check = |rules: &[(&str, &str)], others: &[(&str, &str)], expect: [usize; 3]| {
        let causes = |all: &[(&str, &str)]| -> Vec<quorate_meta::Cause> {
            let cause = |(kind, field): &(&str, &str)| match *kind {
                "required" => quorate_meta::Cause::required(*field, ""),
                "duplicate" => quorate_meta::Cause::duplicate(*field, "x"),
                _ => quorate_meta::Cause::invalid(*field, "x", "because"),
            };
            all.iter().map(cause).collect()
        };
        let found = compare(&graph, ty, &causes(rules), &causes(others));
        let counts = [found.unmatched.len(), found.extra.len(), found.uncovered.len()];
        assert_eq!(counts, expect, "{rules:?} {others:?}");
        assert_eq!(found.mismatches(), expect[0] + expect[1]);
    };
    let number = ("invalid", "number");
    check(&[number], &[number], [0, 0, 0]);
    // Two reasons for one failure are one failure.
    check(&[number], &[number, number], [0, 0, 0]);
    check(&[number], &[], [0, 1, 0]);
    check(&[], &[number], [1, 0, 0]);
    check(&[], &[number, number], [1, 0, 0]);
    // No rule says that a number is required.
    check(&[], &[("required", "number")], [0, 0, 1]);
    check(&[], &[("required", "needed"), ("invalid", "no.such")], [1, 0, 1]);
    check(&[], &[("required", "map[k.l].name"), ("required", "items[3].name")], [2, 0, 0]);
    check(&[], &[("duplicate", "items[3]"), ("duplicate", "few[1]")], [2, 0, 0]);
    check(&[], &[("duplicate", "items"), ("duplicate", "map[a]")], [0, 0, 2]);
    // Of the union; at an entry of a map it may be the key that is wrong.
    check(&[], &[("invalid", "items[0]"), ("invalid", "map[k]")], [1, 0, 1]);
    check(&[], &[("invalid", "metadata.name")], [1, 0, 0]);
}

/// Holds the rules against the recorded facts about the release, where those are there.
#[test]
fn the_rules_agree_with_the_release() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/facts/declarative_validation.json");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let facts: Json = serde_json::from_str(&text).unwrap();
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let mut checked = 0;
    for (place, fact) in facts["kinds"].as_object().unwrap() {
        let (version, kind) = place.split_once(' ').unwrap();
        let version = match version.split_once('/') {
            None => format!("core/{version}"),
            Some((group, version)) => format!("{}/{version}", group.trim_end_matches(".k8s.io")),
        };
        let Some(ty) = graph.type_named(&format!("{version}.{kind}")) else { continue };
        for (path, tags) in fact["paths"].as_object().unwrap() {
            let tags: Vec<&str> =
                tags.as_array().unwrap().iter().filter_map(Json::as_str).collect();
            assert_eq!(
                rules_at(&graph, ty, path).len(),
                rules_of(&tags),
                "{place} {path}: {tags:?}"
            );
            checked += 1;
        }
    }
    assert!(checked > 90, "{checked}");
}

fn rules_at<'g>(graph: &'g Graph, ty: &'g TypeDef, path: &str) -> &'g [DeclaredRule] {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = step.trim_end_matches("[*]").trim_end_matches("{*}");
    let field = ty.property(name).unwrap_or_else(|| panic!("{path}"));
    match rest {
        "" => &field.rules,
        rest => {
            let inner = match &field.shape {
                Shape::List(inner) | Shape::Map(inner) => inner.message(),
                shape => shape.message(),
            };
            rules_at(graph, graph.ty(inner.unwrap()), rest)
        }
    }
}

/// How many rules tags come to.
fn rules_of(tags: &[&str]) -> usize {
    let custom = tags.contains(&"customUnique");
    let is_rule = |tag: &&&str| match tag.split(['=', ':', '(']).next().unwrap_or_default() {
        "listMapKey" | "customUnique" => false,
        "listType" => tag.ends_with("=map") && !custom,
        _ => true,
    };
    let members = tags.iter().filter(|tag| tag.starts_with("item(")).count();
    // All members of one group are one rule.
    tags.iter().filter(is_rule).count() - members.saturating_sub(1)
}
