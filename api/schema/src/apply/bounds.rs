//! Tests of the complexity of server-side apply, on bodies and objects of the largest size.
//!
//! A merge that is quadratic in the elements of a list or map exceeds any time limit here.

use std::fmt::Write as _;

use quorate_meta::Value;

use super::*;
use crate::fieldset::Reach;
use crate::managed::{OneVersion, update_managed_fields};
use crate::testing::{graph, json, ty};

/// Elements of a long list or map.
const MANY: usize = 12_000;

fn applied(graph: &Graph, kind: &str, live: Option<&Value>, manager: &str, body: &Value) -> Value {
    let ty = ty(graph, kind);
    let config = Config::new(graph, ty, body.clone()).expect("fits");
    applier(graph, ty, manager, &Reach::default()).apply(live, &config).expect("no conflict")
}

fn applier<'a>(graph: &'a Graph, ty: TypeId, name: &'a str, reach: &'a Reach) -> Applier<'a> {
    let time = "2026-01-01T00:00:00Z";
    let writer =
        Writer { name, api_version: "v1", subresource: "", time, reach, versions: &OneVersion };
    Applier { graph, ty, writer, force: false }
}

/// `element` for each number, with commas between.
fn many(numbers: impl Iterator<Item = usize>, element: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in numbers {
        let comma = if text.is_empty() { "" } else { "," };
        write!(text, "{comma}{}", element(number)).expect("writing to a string cannot fail");
    }
    text
}

fn length(object: &Value, path: &[&str]) -> usize {
    match object.at(path) {
        Some(Value::List(items)) => items.len(),
        Some(Value::Map(map)) => map.len(),
        _ => 0,
    }
}

#[test]
fn long_maps() {
    let graph = graph();
    let body = |from: usize| {
        let data = many(from..from + MANY, |at| format!(r#""k{at}":"v""#));
        json(&format!(r#"{{"metadata":{{"name":"a"}},"data":{{{data}}}}}"#))
    };
    let kind = "core/v1.ConfigMap";
    let one = applied(&graph, kind, None, "one", &body(0));
    let both = applied(&graph, kind, Some(&one), "two", &body(MANY / 2));
    assert_eq!(length(&both, &["data"]), MANY + MANY / 2);
    let left = applied(&graph, kind, Some(&both), "one", &json(r#"{"metadata":{"name":"a"}}"#));
    assert_eq!(length(&left, &["data"]), MANY);
    let ty = ty(&graph, kind);
    let config =
        Config::new(&graph, ty, json(&text_of(&body(0)).replace("\"v\"", "\"w\""))).expect("fits");
    let reach = Reach::default();
    let refused =
        applier(&graph, ty, "three", &reach).apply(Some(&both), &config).expect_err("conflicts");
    assert!(
        matches!(&refused, ApplyError::Conflicts(conflicts) if conflicts.len() == MANY + MANY / 2)
    );
    assert!(refused.to_string().len() > MANY);
}

fn text_of(value: &Value) -> String {
    serde_json::to_string(value).expect("a value is JSON")
}

#[test]
fn long_sets_and_keyed_lists() {
    let graph = graph();
    let set = |numbers: &mut dyn Iterator<Item = usize>| {
        let values = many(numbers, |at| format!(r#""x/{at}""#));
        json(&format!(r#"{{"metadata":{{"name":"a","finalizers":[{values}]}}}}"#))
    };
    let kind = "core/v1.ConfigMap";
    let one = applied(&graph, kind, None, "one", &set(&mut (0..MANY)));
    let both = applied(&graph, kind, Some(&one), "two", &set(&mut (0..MANY).rev()));
    assert_eq!(length(&both, &["metadata", "finalizers"]), MANY);
    let list = |numbers: &mut dyn Iterator<Item = usize>| {
        let items = many(numbers, |at| format!(r#"{{"name":"e{at}","value":"{at}"}}"#));
        json(&format!(r#"{{"spec":{{"containers":[{{"name":"c","env":[{items}]}}]}}}}"#))
    };
    let kind = "core/v1.PodTemplateSpec";
    let one = applied(&graph, kind, None, "one", &list(&mut (0..MANY)));
    let both = applied(&graph, kind, Some(&one), "two", &list(&mut (MANY / 2..2 * MANY).rev()));
    let left = applied(&graph, kind, Some(&both), "one", &list(&mut (0..1)));
    let env = left
        .at(&["spec", "containers"])
        .and_then(|list| list.as_list()?.first())
        .expect("the container");
    assert_eq!(length(env, &["env"]), 2 * MANY - MANY / 2 + 1);
}

#[test]
fn duplicates_are_found_however_late() {
    let graph = graph();
    let values = many(0..MANY, |at| format!(r#""x/{at}""#));
    let body = json(&format!(r#"{{"metadata":{{"finalizers":[{values},"x/0"]}}}}"#));
    let unfit =
        Config::new(&graph, ty(&graph, "core/v1.ConfigMap"), body).expect_err("a duplicate");
    assert_eq!(unfit.to_string(), r#".metadata.finalizers: duplicate entries for key [="x/0"]"#);
}

#[test]
fn long_keys_above_many_parts() {
    let graph = graph();
    let (name, kind) = ("n".repeat(1 << 20), "core/v1.PodTemplateSpec");
    let env = many(0..MANY, |at| format!(r#"{{"name":"e{at}"}}"#));
    let body = json(&format!(r#"{{"spec":{{"containers":[{{"name":"{name}","env":[{env}]}}]}}}}"#));
    let one = applied(&graph, kind, None, "one", &body);
    let both = applied(&graph, kind, Some(&one), "two", &body);
    assert_eq!(both.at(&["spec"]), one.at(&["spec"]));
}

#[test]
fn long_entries_of_an_update() {
    let graph = graph();
    let ty = ty(&graph, "core/v1.ConfigMap");
    let fields = many(0..MANY, |at| format!(r#""f:k{at}":{{}}"#));
    let entry = |manager: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{{fields}}}}}}}"#
        )
    };
    let entries = many(0..12, |at| entry(&format!("m{at}")));
    let live = json(r#"{"metadata":{"name":"a"},"data":{"k1":"v"}}"#);
    let mut new = json(&format!(
        r#"{{"metadata":{{"name":"a","managedFields":[{entries}]}},"data":{{"k1":"w"}}}}"#
    ));
    let reach = Reach::default();
    update_managed_fields(
        &graph,
        ty,
        Some(&live),
        &mut new,
        &applier(&graph, ty, "writer", &reach).writer,
    );
    assert_eq!(length(&new, &["metadata", "managedFields"]), 10);
}
