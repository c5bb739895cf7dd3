//! Managers after sequences of writes, as in Kubernetes 1.35.

use quorate_meta::Value;

use super::*;
use crate::decode::decode;
use crate::defaults::apply_defaults;
use crate::fieldset::{FieldSet, Reach};
use crate::graph::Graph;
use crate::testing::{graph, json, text, ty};

/// An object and its writes; each write may omit `managedFields`, as clients do.
struct Object {
    graph: Graph,
    kind: &'static str,
    live: Option<Value>,
    reach: Reach,
    second: u32,
}

impl Object {
    fn new(kind: &'static str) -> Self {
        Self { graph: graph(), kind, live: None, reach: Reach::default(), second: 0 }
    }

    fn write(&mut self, manager: &str, body: &str) -> &mut Self {
        self.write_sub(manager, "", body)
    }

    fn write_sub(&mut self, manager: &str, subresource: &str, body: &str) -> &mut Self {
        let (ty, mut new) = (ty(&self.graph, self.kind), json(body));
        decode(&self.graph, ty, &mut new).expect("types fit");
        apply_defaults(&self.graph, ty, &mut new);
        self.second += 1;
        let time = format!("2026-01-01T00:00:{:02}Z", self.second);
        let writer = Writer {
            name: manager,
            api_version: "v1",
            subresource,
            time: &time,
            reach: &self.reach,
            versions: &OneVersion,
        };
        update_managed_fields(&self.graph, ty, self.live.as_ref(), &mut new, &writer);
        self.live = Some(new);
        self
    }

    /// Expects these entries: `manager second fields`, with the subresource after a slash.
    fn check(&mut self, expect: &[&str]) -> &mut Self {
        let list = self.live.as_ref().and_then(|live| live.at(&["metadata", "managedFields"]));
        let found: Vec<String> =
            list.and_then(Value::as_list).unwrap_or_default().iter().map(line).collect();
        assert_eq!(found, expect);
        self
    }
}

fn line(entry: &Value) -> String {
    let get = |key| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let sub = if get("subresource").is_empty() {
        String::new()
    } else {
        format!("/{}", get("subresource"))
    };
    let second = get("time").get(17..19).unwrap_or("--");
    format!("{}{sub} {second} {}", get("manager"), text(entry.get("fieldsV1").expect("fields")))
}

#[test]
fn an_entry_may_be_renamed_to_another_one() {
    let entry = |manager: &str, operation: &str, version: &str, fields: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"{version}","fieldsType":"FieldsV1","fieldsV1":{{"f:{fields}":{{}}}}}}"#
        )
    };
    let check = |entries: &[String], expect: &[&str]| {
        let managed = Managed::decode(Some(&json(&format!("[{}]", entries.join(","))))).unwrap();
        let found = managed.entries.iter().map(|entry| text(&entry.fields.encode()));
        let expect = expect.iter().map(|field| format!(r#"{{"f:{field}":{{}}}}"#));
        assert_eq!(found.collect::<Vec<_>>(), expect.collect::<Vec<_>>());
    };
    let update = |manager: &str, fields: &str| entry(manager, "Update", "v1", fields);
    check(&[update("a", "x"), update("b", "y")], &["x", "y"]);
    check(&[update("a", "x"), update("b", "y"), update("a", "z")], &["y", "z"]);
    check(&[update("a", "x"), entry("a", "Apply", "v1", "y")], &["x", "y"]);
    check(&[update("a", "x"), entry("a", "Update", "v2", "y")], &["x", "y"]);
    // Applies through several versions are of one manager.
    check(&[entry("a", "Apply", "v1", "x"), entry("a", "Apply", "v2", "y")], &["y"]);
}

#[test]
fn a_creator_owns_what_it_gave() {
    let body = r#"{"data":{"k":"v","l":""},"metadata":{"name":"a","annotations":{"n":"1"},"finalizers":["example.com/f"],"labels":{"x":"y"}}}"#;
    Object::new("core/v1.ConfigMap").write("creator", body).check(&[
        r#"creator 01 {"f:data":{".":{},"f:k":{},"f:l":{}},"f:metadata":{"f:annotations":{".":{},"f:n":{}},"f:finalizers":{".":{},"v:\"example.com/f\"":{}},"f:labels":{".":{},"f:x":{}}}}"#,
    ]);
    Object::new("core/v1.ConfigMap")
        .write("creator", r#"{"metadata":{"name":"a","labels":{}},"data":{}}"#)
        .check(&[]);
}

#[test]
fn a_creator_owns_defaults_too() {
    let body = r#"{"template":{"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"args":["x"],"env":[{"name":"E","value":"1"}]}],"nodeSelector":{"a":"b"}}}}"#;
    Object::new("core/v1.PodTemplate").write("parity", body).check(&[
        r#"parity 01 {"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:args":{},"f:env":{".":{},"k:{\"name\":\"E\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:nodeSelector":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}"#,
    ]);
}

#[test]
fn free_json_is_owned_as_a_whole() {
    Object::new("apps/v1.ControllerRevision")
        .write("m", r#"{"data":{"spec":{"any":["thing",1]}},"revision":3}"#)
        .check(&[r#"m 01 {"f:data":{},"f:revision":{}}"#]);
}

#[test]
fn updates_move_what_changes() {
    let mut object = Object::new("core/v1.ConfigMap");
    object.write("m", r#"{"data":{"k":"v"}}"#).check(&[r#"m 01 {"f:data":{".":{},"f:k":{}}}"#]);
    object
        .write("m", r#"{"data":{"k":"v","l":"v"}}"#)
        .check(&[r#"m 02 {"f:data":{".":{},"f:k":{},"f:l":{}}}"#]);
    object.write("n", r#"{"data":{"k":"v","l":"w"}}"#);
    object.check(&[r#"m 02 {"f:data":{".":{},"f:k":{}}}"#, r#"n 03 {"f:data":{"f:l":{}}}"#]);
    object.write("n", r#"{"data":{"l":"w"}}"#);
    object.check(&[r#"m 02 {"f:data":{}}"#, r#"n 03 {"f:data":{"f:l":{}}}"#]);
    object.write("o", "{}").check(&[]);
    object.write("o", r#"{"data":{"k":"v"}}"#).check(&[]);
}

#[test]
fn a_write_without_change_keeps_everything() {
    let mut object = Object::new("core/v1.ConfigMap");
    object
        .write("m", r#"{"data":{"k":"v"}}"#)
        .write("n", r#"{"data":{"k":"v"},"metadata":{"uid":"1"}}"#);
    object.check(&[r#"m 01 {"f:data":{".":{},"f:k":{}}}"#]);
}

#[test]
fn entries_of_the_request_count_on_updates_only() {
    let entry = |operation: &str, manager: &str| {
        format!(
            r#"{{"data":{{"k":"v"}},"metadata":{{"managedFields":[{{"manager":"{manager}","operation":"{operation}","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k":{{}}}}}}}}]}}}}"#
        )
    };
    let mut object = Object::new("core/v1.ConfigMap");
    object.write("m", &entry("Apply", "other")).check(&[r#"m 01 {"f:data":{".":{},"f:k":{}}}"#]);
    object.write("n", &entry("Create", "other")).check(&[r#"m 01 {"f:data":{".":{},"f:k":{}}}"#]);
    object
        .write("n", r#"{"data":{"k":"v"},"metadata":{"managedFields":[]}}"#)
        .check(&[r#"m 01 {"f:data":{".":{},"f:k":{}}}"#]);
    object.write("n", &entry("Apply", "other")).check(&[r#"other -- {"f:data":{"f:k":{}}}"#]);
    object
        .write_sub("n", "status", &entry("Apply", "third"))
        .check(&[r#"other -- {"f:data":{"f:k":{}}}"#]);
}

#[test]
fn a_reset_leaves_what_the_same_request_changes() {
    let mut object = Object::new("core/v1.ConfigMap");
    object
        .write("m", r#"{"data":{"k":"v"}}"#)
        .write("n", r#"{"data":{"k":"v"},"metadata":{"managedFields":[{}]}}"#)
        .check(&[]);
    let mut object = Object::new("core/v1.ConfigMap");
    object
        .write("m", r#"{"data":{"k":"v"}}"#)
        .write("n", r#"{"data":{"k":"w"},"metadata":{"managedFields":[{}]}}"#);
    object.check(&[r#"n 02 {"f:data":{"f:k":{}}}"#]);
}

#[test]
fn after_a_reset_the_writer_owns_what_its_request_names() {
    let (graph, kind) = (graph(), "core/v1.ConfigMap");
    let ty = ty(&graph, kind);
    let check = |named: Option<&str>, changes: bool, expect: &str| {
        let mut object = json(
            r#"{"metadata":{"name":"a","uid":"u","labels":{"l":"1"}},"data":{"k":"v","o":"v"}}"#,
        );
        let reach = Reach::default();
        let writer = Writer {
            name: "n",
            api_version: "v1",
            subresource: "",
            time: "",
            reach: &reach,
            versions: &OneVersion,
        };
        let live = json(if changes { r#"{"data":{"k":"u","o":"v"}}"# } else { "{}" });
        let before = if changes { live } else { object.clone() };
        object.set_at(&["metadata", "managedFields"], vec![json("{}")]);
        update_managed_fields(&graph, ty, Some(&before), &mut object, &writer);
        take_named(&graph, ty, &mut object, named.map(json).as_ref(), &writer);
        let entries =
            object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
        let fields =
            entries.iter().map(|entry| text(&entry.get("fieldsV1").cloned().unwrap_or_default()));
        assert_eq!(fields.collect::<Vec<_>>().join(" "), expect, "{named:?}");
    };
    let labels = r#""f:metadata":{"f:labels":{".":{},"f:l":{}}}"#;
    check(None, true, &format!(r#"{{"f:data":{{".":{{}},"f:k":{{}},"f:o":{{}}}},{labels}}}"#));
    let named =
        r#"{"data":{"k":"v","o":"v","gone":null},"metadata":{"managedFields":[{}]},"$odd":1}"#;
    check(Some(named), true, &format!(r#"{{"f:data":{{"f:k":{{}},"f:o":{{}}}},{labels}}}"#));
    check(None, false, "");
}

#[test]
fn subresources_and_ignored_fields() {
    let mut object = Object::new("core/v1.Namespace");
    object.reach = Reach::AllBut(FieldSet::of_fields(&["status"]));
    object
        .write("m", r#"{"metadata":{"labels":{"a":"b"}}}"#)
        .check(&[r#"m 01 {"f:metadata":{"f:labels":{".":{},"f:a":{}}}}"#]);
    object.reach = Reach::AllBut(FieldSet::of_fields(&["spec"]));
    let body = r#"{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[{"type":"Mine","status":"True"}]}}"#;
    object.write_sub("m", "status", body).check(&[
        r#"m 01 {"f:metadata":{"f:labels":{".":{},"f:a":{}}}}"#,
        r#"m/status 02 {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Mine\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}}}}"#,
    ]);
}

#[test]
fn the_oldest_of_more_than_ten_updaters_are_merged() {
    let mut object = Object::new("core/v1.ConfigMap");
    let mut data = String::new();
    for index in 0..12 {
        data.push_str(&format!("{}\"k{index:02}\":\"v\"", if index == 0 { "" } else { "," }));
        object.write(&format!("m{index:02}"), &format!(r#"{{"data":{{{data}}}}}"#));
    }
    let mut expect = vec![
        r#"ancient-changes 03 {"f:data":{".":{},"f:k00":{},"f:k01":{},"f:k02":{}}}"#.to_owned(),
    ];
    expect.extend((3..12).map(|index| {
        format!(r#"m{index:02} {:02} {{"f:data":{{"f:k{index:02}":{{}}}}}}"#, index + 1)
    }));
    object.check(&expect.iter().map(String::as_str).collect::<Vec<_>>());
}
