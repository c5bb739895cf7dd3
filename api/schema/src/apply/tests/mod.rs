//! Managers and values after sequences of applies and updates, as in Kubernetes 1.35.

mod client_side;
mod lists;
mod properties;

use std::sync::LazyLock;

use quorate_meta::Value;

use super::*;
use crate::decode::decode;
use crate::defaults::apply_defaults;
use crate::fieldset::Reach;
use crate::managed::{OneVersion, update_managed_fields};
use crate::testing::{graph, json, text, ty};

/// The graph of all these tests.
fn shared() -> &'static Graph {
    static GRAPH: LazyLock<Graph> = LazyLock::new(graph);
    &GRAPH
}

/// An object and its writes.
struct Object {
    graph: &'static Graph,
    kind: &'static str,
    live: Option<Value>,
    reach: Reach,
    second: u32,
}

impl Object {
    fn new(kind: &'static str) -> Self {
        Self { graph: shared(), kind, live: None, reach: Reach::default(), second: 0 }
    }

    fn write<T>(&mut self, manager: &str, act: impl FnOnce(&Self, Writer<'_>) -> T) -> T {
        self.second += 1;
        let time = format!("2026-01-01T00:00:{:02}Z", self.second);
        let reach = self.reach.clone();
        let writer = Writer {
            name: manager,
            api_version: "v1",
            subresource: "",
            time: &time,
            reach: &reach,
            versions: &OneVersion,
        };
        act(self, writer)
    }

    fn try_apply(&mut self, manager: &str, body: &str, force: bool) -> Result<(), ApplyError> {
        let mut new = self.write(manager, |this, writer| {
            let ty = ty(this.graph, this.kind);
            let config = Config::new(this.graph, ty, json(body)).expect("fits");
            Applier { graph: this.graph, ty, writer, force }.apply(this.live.as_ref(), &config)
        })?;
        apply_defaults(self.graph, ty(self.graph, self.kind), &mut new);
        self.live = Some(new);
        Ok(())
    }

    #[track_caller]
    fn apply(&mut self, manager: &str, body: &str) -> &mut Self {
        self.try_apply(manager, body, false).expect("no conflict");
        self
    }

    #[track_caller]
    fn force(&mut self, manager: &str, body: &str) -> &mut Self {
        self.try_apply(manager, body, true).expect("conflicts are won");
        self
    }

    /// Expects these conflicts, each a field with its manager.
    #[track_caller]
    fn conflicts(&mut self, manager: &str, body: &str, expect: &[&str]) -> &mut Self {
        let Err(ApplyError::Conflicts(conflicts)) = self.try_apply(manager, body, false) else {
            panic!("{body} does not conflict")
        };
        let found: Vec<_> = conflicts
            .iter()
            .map(|conflict| format!("{} {}", conflict.owner, conflict.field()))
            .collect();
        assert_eq!(found, expect);
        self
    }

    fn update(&mut self, manager: &str, body: &str) -> &mut Self {
        let new = self.write(manager, |this, writer| {
            let (ty, mut new) = (ty(this.graph, this.kind), json(body));
            decode(this.graph, ty, &mut new).expect("types fit");
            apply_defaults(this.graph, ty, &mut new);
            update_managed_fields(this.graph, ty, this.live.as_ref(), &mut new, &writer);
            new
        });
        self.live = Some(new);
        self
    }

    /// Sets a field without a manager, as defaults do.
    fn update_unowned(&mut self, path: &[&str], value: &str) -> &mut Self {
        self.live.as_mut().expect("applied").set_at(path, value);
        self
    }

    #[track_caller]
    fn has(&mut self, path: &[&str], expect: &str) -> &mut Self {
        let found = self
            .live
            .as_ref()
            .and_then(|live| live.at(path))
            .map_or_else(|| "nothing".to_owned(), text);
        assert_eq!(found, expect, "{path:?}");
        self
    }

    /// Expects these entries: `manager operation fields`.
    #[track_caller]
    fn owners(&mut self, expect: &[&str]) -> &mut Self {
        let list = self.live.as_ref().and_then(|live| live.at(&["metadata", "managedFields"]));
        let line = |entry: &Value| {
            let get = |key| entry.str_at(&[key]).unwrap_or_default();
            format!(
                "{} {} {}",
                get("manager"),
                get("operation"),
                text(entry.get("fieldsV1").expect("fields"))
            )
        };
        let found: Vec<_> =
            list.and_then(Value::as_list).unwrap_or_default().iter().map(line).collect();
        assert_eq!(found, expect);
        self
    }

    fn times(&self) -> Vec<&str> {
        let list = self.live.as_ref().and_then(|live| live.at(&["metadata", "managedFields"]));
        let entries = list.and_then(Value::as_list).unwrap_or_default();
        entries
            .iter()
            .map(|entry| entry.str_at(&["time"]).map_or("none", |time| &time[17..19]))
            .collect()
    }
}

fn data(entries: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a"}},"data":{{{entries}}}}}"#)
}

#[test]
fn values_are_shared_won_and_given_up() {
    let mut object = Object::new("core/v1.ConfigMap");
    object
        .apply("one", &data(r#""k":"v","l":"v""#))
        .owners(&[r#"one Apply {"f:data":{"f:k":{},"f:l":{}}}"#]);
    object.conflicts("two", &data(r#""k":"w""#), &[r#""one" .data.k"#]);
    object.apply("two", &data(r#""k":"v","m":"v""#));
    object.owners(&[
        r#"one Apply {"f:data":{"f:k":{},"f:l":{}}}"#,
        r#"two Apply {"f:data":{"f:k":{},"f:m":{}}}"#,
    ]);
    object.force("two", &data(r#""k":"w","m":"v""#));
    object.owners(&[
        r#"one Apply {"f:data":{"f:l":{}}}"#,
        r#"two Apply {"f:data":{"f:k":{},"f:m":{}}}"#,
    ]);
    object.apply("two", &data(r#""m":"v""#)).has(&["data"], r#"{"l":"v","m":"v"}"#);
    object.apply("one", r#"{"metadata":{"name":"a"}}"#).has(&["data"], r#"{"m":"v"}"#);
    object.owners(&[r#"two Apply {"f:data":{"f:m":{}}}"#]);
}

#[test]
fn the_message_of_a_refusal() {
    let mut object = Object::new("core/v1.ConfigMap");
    object
        .apply("one", &data(r#""k":"v","l":"v""#))
        .update("put", &data(r#""k":"v","l":"v","m":"v""#));
    let live = object.live.clone();
    assert!(live.is_some());
    let check = |object: &mut Object, body: &str, expect: &str| {
        assert_eq!(
            object.try_apply("two", &data(body), false).expect_err("conflicts").to_string(),
            expect
        );
    };
    check(
        &mut object,
        r#""k":"w""#,
        r#"Apply failed with 1 conflict: conflict with "one": .data.k"#,
    );
    check(
        &mut object,
        r#""k":"w","l":"w""#,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.k\n- .data.l",
    );
}

#[test]
fn updates_take_and_free_fields() {
    let mut object = Object::new("core/v1.ConfigMap");
    object.apply("one", &data(r#""k":"v","l":"v""#));
    let entries = text(
        object
            .live
            .as_ref()
            .and_then(|live| live.at(&["metadata", "managedFields"]))
            .expect("entries"),
    );
    object.update(
        "put",
        &format!(r#"{{"metadata":{{"name":"a","managedFields":{entries}}},"data":{{"k":"w"}}}}"#),
    );
    object.owners(&[r#"put Update {"f:data":{"f:k":{}}}"#]);
    object.conflicts("one", &data(r#""k":"v""#), &[r#""put" using v1 .data.k"#]);
    object
        .apply("one", &data(r#""k":"w","l":"x""#))
        .apply("one", &data(""))
        .has(&["data"], r#"{"k":"w"}"#);
}

#[test]
fn what_nobody_tracked_is_owned_before_the_first_apply() {
    let mut object = Object::new("core/v1.ConfigMap");
    object.live = Some(json(&data(r#""k":"v""#)));
    object.apply("one", &data(r#""k":"v","l":"v""#)).owners(&[
        r#"one Apply {"f:data":{"f:k":{},"f:l":{}}}"#,
        r#"before-first-apply Update {"f:data":{".":{},"f:k":{}}}"#,
    ]);
    object.conflicts("one", &data(r#""k":"w""#), &[r#""before-first-apply" using v1 .data.k"#]);
}

#[test]
fn times_tell_when_a_value_was_changed() {
    let mut object = Object::new("core/v1.ConfigMap");
    object.apply("a", &data(r#""k":"v""#)).apply("b", &data(r#""k":"v""#));
    assert_eq!(object.times(), ["none", "01"]);
    let before = object.live.clone();
    object.apply("a", &data(r#""k":"v""#));
    assert_eq!(object.live, before, "the same again changes nothing");
    object.apply("b", &data(r#""k":"v","l":"v""#));
    assert_eq!(object.times(), ["01", "04"]);
}

#[test]
fn a_zero_value_is_a_value() {
    let paused = |value: &str| format!(r#"{{"spec":{{"paused":{value}}}}}"#);
    let path = ["spec", "paused"];
    let mut object = Object::new("apps/v1.Deployment");
    object.apply("a", &paused("true")).conflicts("b", &paused("false"), &[r#""a" .spec.paused"#]);
    object.apply("a", &paused("false")).has(&path, "nothing");
    object.apply("b", &paused("false"));
    object.conflicts("c", &paused("true"), &[r#""a" .spec.paused"#, r#""b" .spec.paused"#]);
    object.apply("d", &paused("null")).has(&path, "nothing");
}

#[test]
fn an_omitted_field_goes_back_to_its_default_with_its_parts() {
    let spec =
        |rest: &str| format!(r#"{{"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}}{rest}}}}}"#);
    let mut object = Object::new("apps/v1.Deployment");
    object.apply("a", &spec(r#","replicas":0,"strategy":{"rollingUpdate":{"maxSurge":1}}"#));
    object
        .has(&["spec", "replicas"], "0")
        .update_unowned(&["spec", "strategy", "type"], "Recreate");
    object
        .apply("a", &spec(""))
        .has(&["spec", "replicas"], "1")
        .has(&["spec", "strategy"], r#"{"type":"RollingUpdate"}"#);
}

#[test]
fn fields_out_of_reach_are_neither_owned_nor_fought_for() {
    let mut object = Object::new("core/v1.Namespace");
    object.reach = Reach::AllBut(FieldSet::of_fields(&["status"]));
    object.apply("a", r#"{"metadata":{"name":"n","labels":{"x":"1"}},"status":{"phase":"Odd"}}"#);
    object.apply("b", r#"{"metadata":{"name":"n"},"status":{"phase":"Other"}}"#);
    object.owners(&[r#"a Apply {"f:metadata":{"f:labels":{"f:x":{}}}}"#]);
}

#[test]
fn parts_of_what_is_atomic_now_are_owned_as_the_whole() {
    let entry = |manager: &str, fields: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
        )
    };
    let parts = entry("a", r#"{"f:nodeSelector":{"f:x":{}}}"#);
    let managed = Managed::decode(Some(&json(&format!("[{parts}]")))).expect("entries");
    let graph = shared();
    let mut fitted = managed.clone();
    fit(graph, ty(graph, "core/v1.PodSpec"), "v1", &json("{}"), &OneVersion, &mut fitted);
    assert_eq!(fitted.entries[0].fields, FieldSet::of_fields(&["nodeSelector"]));
    let mut fitted = managed;
    fitted.entries[0].fields = FieldSet::of_fields(&["nothing.known", "tolerations", "containers"]);
    let before = fitted.clone();
    fit(graph, ty(graph, "core/v1.PodSpec"), "v1", &json("{}"), &OneVersion, &mut fitted);
    assert_eq!(fitted, before);
}

#[test]
fn bodies_that_do_not_fit() {
    let graph = shared();
    let check = |kind: &str, body: &str, expect: &str| {
        let unfit = Config::new(graph, ty(graph, kind), json(body)).expect_err(body);
        assert_eq!(unfit.to_string(), expect);
    };
    let map = "core/v1.ConfigMap";
    check(map, r#"{"nope":1}"#, ".nope: field not declared in schema");
    check(map, r#"{"metadata":{"nope":1}}"#, ".metadata.nope: field not declared in schema");
    check(map, r#"{"data":{"k":1}}"#, ".data.k: expected string, got 1");
    check(map, r#"{"data":["v"]}"#, ".data: expected map, got array");
    check(map, r#"{"immutable":"yes"}"#, r#".immutable: expected boolean, got "yes""#);
    check(
        map,
        r#"{"metadata":{"finalizers":["a","a"]}}"#,
        r#".metadata.finalizers: duplicate entries for key [="a"]"#,
    );
    let pod = "core/v1.PodSpec";
    check(
        pod,
        r#"{"containers":[{"name":"c"},{"name":"c"}]}"#,
        r#".containers: duplicate entries for key [name="c"]"#,
    );
    check(
        pod,
        r#"{"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":80,"protocol":"TCP"}]}]}"#,
        r#".containers[name="c"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]"#,
    );
    check(
        pod,
        r#"{"tolerations":[{"nope":1}]}"#,
        ".tolerations[0].nope: field not declared in schema",
    );
    check(
        pod,
        r#"{"terminationGracePeriodSeconds":"x"}"#,
        r#".terminationGracePeriodSeconds: expected numeric (int or float), got "x""#,
    );
    check(map, r#"{"binaryData":{"k":"?"}}"#, "illegal base64 data at input byte 0");
}
