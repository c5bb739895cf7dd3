//! Owners of lists, maps and sets, and of what is in them.

use quorate_meta::Value;

use super::Object;
use crate::fieldset::{FieldSet, members};
use crate::graph::Graph;
use crate::testing::{json, text, ty};

pub(super) const POD: &str = "core/v1.PodTemplateSpec";

fn containers(containers: &str) -> String {
    format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{containers}]}}}}"#)
}

#[test]
fn items_of_keyed_lists_have_owners() {
    let path = ["spec", "containers"];
    let mut object = Object::new(POD);
    object.apply("a", &containers(r#"{"name":"c","image":"i"},{"name":"d","image":"j"}"#));
    object.apply("b", &containers(r#"{"name":"d","workingDir":"/w"}"#));
    object.conflicts(
        "b",
        &containers(r#"{"name":"c","image":"x"},{"name":"d","workingDir":"/w"}"#),
        &[r#""a" .spec.containers[name="c"].image"#],
    );
    object.apply("b", &containers(r#"{"name":"d","image":"j","workingDir":"/w"}"#));
    object.apply("a", &containers(r#"{"name":"c","image":"i"}"#));
    object.owners(&[
        r#"a Apply {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}"#,
        r#"b Apply {"f:spec":{"f:containers":{"k:{\"name\":\"d\"}":{".":{},"f:image":{},"f:name":{},"f:workingDir":{}}}}}"#,
    ]);
    object.apply("b", r#"{"metadata":{"name":"p"},"spec":{}}"#);
    let list = object.live.as_ref().and_then(|live| live.at(&path)).and_then(Value::as_list);
    let names: Vec<_> =
        list.into_iter().flatten().filter_map(|item| item.str_at(&["name"])).collect();
    assert_eq!(names, ["c"]);
}

#[test]
fn a_key_with_a_default_may_be_left_out() {
    let port =
        |ports: &str| containers(&format!(r#"{{"name":"c","image":"i","ports":[{ports}]}}"#));
    let mut object = Object::new(POD);
    object.apply("a", &port(r#"{"containerPort":80,"name":"web"}"#));
    object.conflicts(
        "b",
        &port(r#"{"containerPort":80,"protocol":"TCP","name":"x"}"#),
        &[r#""a" .spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name"#],
    );
    object.apply("b", &port(r#"{"containerPort":80,"protocol":"UDP","name":"dns"}"#));
    object.apply("a", &port(r#"{"containerPort":81,"name":"web"}"#));
    let list = object
        .live
        .as_ref()
        .and_then(|live| live.at(&["spec", "containers"])?.as_list()?[0].at(&["ports"]));
    assert_eq!(
        text(list.expect("ports")),
        r#"[{"containerPort":80,"name":"dns","protocol":"UDP"},{"containerPort":81,"name":"web","protocol":"TCP"}]"#
    );
}

#[test]
fn atomic_lists_and_maps_have_one_owner() {
    let args = |args: &str| containers(&format!(r#"{{"name":"c","image":"i","args":{args}}}"#));
    let mut object = Object::new(POD);
    object.apply("a", &args(r#"["x","y"]"#)).apply("b", &args(r#"["x","y"]"#));
    object.conflicts("b", &args(r#"["x"]"#), &[r#""a" .spec.containers[name="c"].args"#]);
    object.force("b", &args(r#"["z"]"#)).apply("a", &containers(r#"{"name":"c","image":"i"}"#));
    let list = object
        .live
        .as_ref()
        .and_then(|live| live.at(&["spec", "containers"])?.as_list()?[0].at(&["args"]));
    assert_eq!(text(list.expect("args")), r#"["z"]"#);
    let mut object = Object::new("core/v1.ServiceSpec");
    object.live = None;
    let selector =
        |graph: &Graph, body: &str| members(graph, ty(graph, "core/v1.ServiceSpec"), &json(body));
    assert_eq!(
        selector(object.graph, r#"{"selector":{"a":"b"}}"#),
        FieldSet::of_fields(&["selector"])
    );
}

#[test]
fn sets_have_an_owner_for_each_value() {
    let finalizers = |list: &str| format!(r#"{{"metadata":{{"name":"a","finalizers":[{list}]}}}}"#);
    let path = ["metadata", "finalizers"];
    let mut object = Object::new("core/v1.ConfigMap");
    object.apply("a", &finalizers(r#""x/a","x/s""#)).apply("b", &finalizers(r#""x/b","x/s""#));
    object.has(&path, r#"["x/a","x/b","x/s"]"#);
    object
        .apply("b", &finalizers(r#""x/b""#))
        .apply("a", r#"{"metadata":{"name":"a"}}"#)
        .has(&path, r#"["x/b"]"#);
    object.apply("b", r#"{"metadata":{"name":"a"}}"#).has(&path, "nothing");
}
