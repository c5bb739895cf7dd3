//! Stored custom objects over HTTP: read by the schemas of today, in every version that is served,
//! and cleaned up whichever is.

use http::Method;
use quorate_registry::write::{GivenOptions, Target, WriteOptions};
use serde_json::{Value, json};

use crate::controllers::{until, until_body};
use crate::custom_resources::{DEFINITION, MERGE, WIDGETS, define, version, widget};
use crate::harness::Server;

const WIDGETS_V2: &str = "/apis/x.example/v2/namespaces/a/widgets";

fn text(more: Value) -> Value {
    let mut field = json!({"type": "string"});
    field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    field
}

fn unserved(mut version: Value) -> Value {
    version["served"] = json!(false);
    version
}

/// Changes the versions of the definition.
async fn redefine(server: &Server, versions: &[Value]) {
    let patch = json!({"spec": {"versions": versions}}).to_string();
    let answer = server.send(Method::PATCH, DEFINITION, &MERGE, patch).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn create(server: &Server, path: &str, body: &str) -> Value {
    let answer = server.send(Method::POST, path, &[], body.to_owned()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

fn in_v2(body: &str) -> String {
    body.replace("x.example/v1", "x.example/v2")
}

#[tokio::test]
async fn each_version_shows_what_both_have() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let fields = |own: &str| json!({own: text(json!({})), "both": text(json!({}))});
    define(&server, &[version("v1", true, fields("a")), version("v2", false, fields("b"))]).await;
    let made = create(&server, WIDGETS, &widget("x", json!({"a": "1", "both": "2"}))).await;
    assert_eq!(made["spec"], json!({"a": "1", "both": "2"}));
    let read = server.get(&format!("{WIDGETS_V2}/x")).await.json();
    let expect = (&json!("x.example/v2"), &json!({"both": "2"}));
    assert_eq!((&read["apiVersion"], &read["spec"]), expect);
    let list = server.get(WIDGETS_V2).await.json();
    assert_eq!((&list["items"][0]["apiVersion"], &list["items"][0]["spec"]), expect);
    let mut watch = server.watch(&format!("{WIDGETS_V2}?watch=1")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["spec"], json!({"both": "2"}));
    let body = in_v2(&widget("y", json!({"b": "1", "both": "2"})));
    assert_eq!(create(&server, WIDGETS_V2, &body).await["spec"], json!({"both": "2"}));
    let read = server.get(&format!("{WIDGETS}/y")).await.json();
    assert_eq!(
        (&read["apiVersion"], &read["spec"]),
        (&json!("x.example/v1"), &json!({"both": "2"}))
    );
}

#[tokio::test]
async fn a_new_default_is_in_old_objects() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let old = json!({"a": text(json!({})), "gone": text(json!({}))});
    define(&server, &[version("v1", true, old)]).await;
    let made = create(&server, WIDGETS, &widget("x", json!({"a": "1", "gone": "1"}))).await;
    let new = json!({"a": text(json!({})), "b": text(json!({"default": "new"}))});
    let mut changed = version("v1", true, new);
    changed["selectableFields"] = json!([{"jsonPath": ".spec.b"}]);
    redefine(&server, &[changed]).await;
    let (path, expect) = (format!("{WIDGETS}/x"), json!({"a": "1", "b": "new"}));
    let read = server.get(&path).await;
    assert_eq!(read.json()["spec"], expect);
    assert_eq!(read.json()["metadata"], made["metadata"]);
    assert_eq!(server.get(WIDGETS).await.json()["items"][0]["spec"], expect);
    for (selector, names) in [("spec.b=new", vec!["x"]), ("spec.b!=new", vec![])] {
        let list = server.get(&format!("{WIDGETS}?fieldSelector={selector}")).await;
        assert_eq!(list.names(), names, "{selector}");
        let list = server.get(&format!("{WIDGETS}?limit=1&fieldSelector={selector}")).await;
        assert_eq!(list.names(), names, "{selector}");
    }
    // An update that changes nothing writes what is read, once.
    let mut versions = vec![read.version()];
    for _ in 0..2 {
        let answer = server.send(Method::PATCH, &path, &MERGE, "{}").await;
        assert_eq!(answer.json()["spec"], expect);
        assert_eq!(answer.json()["metadata"]["generation"], json!(1));
        versions.push(answer.version());
    }
    assert!(versions[0] != versions[1] && versions[1] == versions[2], "{versions:?}");
    let answer = server.send(Method::PATCH, &path, &MERGE, r#"{"spec":{"a":"2"}}"#).await;
    assert_eq!(answer.json()["spec"], json!({"a": "2", "b": "new"}));
    assert_eq!(answer.json()["metadata"]["generation"], json!(2));
}

#[tokio::test]
async fn objects_stay_what_they_were_stored_as() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let fields = |default: &str| json!({"a": text(json!({"default": default}))});
    let versions = |storage: &str| {
        ["v1", "v2"].map(|name| version(name, name == storage, fields(&format!("of {name}"))))
    };
    define(&server, &versions("v1")).await;
    create(&server, WIDGETS, &widget("x", json!({}))).await;
    // Stored as v1; the default of v2 is for what is stored as v2.
    redefine(&server, &versions("v2")).await;
    let stored = server.get(DEFINITION).await.json()["status"]["storedVersions"].clone();
    assert_eq!(stored, json!(["v1", "v2"]));
    create(&server, WIDGETS_V2, &in_v2(&widget("y", json!({})))).await;
    for path in [WIDGETS, WIDGETS_V2] {
        let list = server.get(path).await.json();
        let found = [&list["items"][0]["spec"]["a"], &list["items"][1]["spec"]["a"]];
        assert_eq!(found, [&json!("of v1"), &json!("of v2")], "{path}");
    }
}

#[tokio::test]
async fn the_watches_of_a_version_end_with_it() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let (v1, v2) = (version("v1", true, json!({})), version("v2", false, json!({})));
    define(&server, &[v1.clone(), v2.clone()]).await;
    create(&server, WIDGETS, &widget("x", json!({}))).await;
    let mut first = server.watch(&format!("{WIDGETS}?watch=1")).await;
    let mut second = server.watch(&format!("{WIDGETS_V2}?watch=1")).await;
    assert_eq!(first.brief(1).await, ["ADDED x"]);
    assert_eq!(second.brief(1).await, ["ADDED x"]);
    redefine(&server, &[v1.clone(), unserved(v2.clone())]).await;
    create(&server, WIDGETS, &widget("y", json!({}))).await;
    assert_eq!(second.all().await, Vec::<String>::new());
    assert_eq!(server.get(WIDGETS_V2).await.status, 404);
    assert_eq!(first.brief(1).await, ["ADDED y"]);
    // Another schema begins another watch.
    redefine(&server, &[version("v1", true, json!({"a": text(json!({}))})), unserved(v2)]).await;
    create(&server, WIDGETS, &widget("z", json!({}))).await;
    assert_eq!(first.all().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_watch_tells_nothing_of_the_next_definition() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    define(&server, &[version("v1", true, json!({}))]).await;
    create(&server, WIDGETS, &widget("x", json!({}))).await;
    let mut watch = server.watch(&format!("{WIDGETS}?watch=1")).await;
    server.send(Method::DELETE, DEFINITION, &[], "").await;
    until(&server, DEFINITION, 404).await;
    define(&server, &[version("v1", true, json!({}))]).await;
    create(&server, WIDGETS, &widget("y", json!({}))).await;
    assert_eq!(watch.all().await, ["ADDED x", "DELETED x"]);
}

#[tokio::test]
async fn objects_go_though_their_version_is_not_served() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let (v1, v2) = (version("v1", true, json!({})), version("v2", false, json!({})));
    define(&server, &[v1.clone(), v2.clone()]).await;
    for name in ["x", "y"] {
        create(&server, WIDGETS, &widget(name, json!({}))).await;
    }
    redefine(&server, &[unserved(v1), unserved(v2.clone())]).await;
    assert_eq!(server.get(WIDGETS).await.status, 404);
    server.namespace("b").await;
    server.send(Method::DELETE, "/api/v1/namespaces/a", &[], "").await;
    until(&server, "/api/v1/namespaces/a", 404).await;
    let served = [unserved(version("v1", true, json!({}))), v2.clone()];
    redefine(&server, &served).await;
    assert!(server.get("/apis/x.example/v2/widgets").await.names().is_empty());
    let path = "/apis/x.example/v2/namespaces/b/widgets";
    create(&server, path, &in_v2(&widget("z", json!({})))).await;
    redefine(&server, &[unserved(version("v1", true, json!({}))), unserved(v2)]).await;
    server.send(Method::DELETE, DEFINITION, &[], "").await;
    until(&server, DEFINITION, 404).await;
}

#[tokio::test]
async fn nothing_is_created_by_a_definition_that_is_gone() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let widgets = || server.api.catalogue.load().find("x.example", "v1", "widgets").cloned();
    define(&server, &[version("v1", true, json!({"old": text(json!({}))}))]).await;
    let old = widgets().unwrap();
    let create_by_old = async |name: &str| {
        let writer = server.api.writer();
        let target = Target { resource: &old, namespace: Some("a"), name };
        let object: Value = serde_json::from_str(&widget(name, json!({"old": "1"}))).unwrap();
        writer
            .create(
                target,
                object.into(),
                WriteOptions { dry_run: false, manager: "m", given: GivenOptions::NONE },
            )
            .await
    };
    assert!(create_by_old("x").await.is_ok());
    server.send(Method::DELETE, DEFINITION, &[], "").await;
    until(&server, DEFINITION, 404).await;
    assert_eq!(create_by_old("y").await.unwrap_err().into_status().code, 404);
    define(&server, &[version("v1", true, json!({"new": text(json!({}))}))]).await;
    let refused = create_by_old("y").await.unwrap_err().into_status();
    assert_eq!(refused.code, 503, "{}", refused.message);
    assert_eq!(refused.details.unwrap().retry_after_seconds, 1);
    assert!(server.get(WIDGETS).await.names().is_empty());
    create(&server, WIDGETS, &widget("y", json!({"new": "1"}))).await;
}

#[tokio::test]
async fn a_migration_leaves_one_stored_version() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let versions =
        |storage: &str| ["v1", "v2"].map(|name| version(name, name == storage, json!({})));
    define(&server, &versions("v1")).await;
    for number in 0..300 {
        create(&server, WIDGETS, &widget(&format!("old-{number}"), json!({}))).await;
    }
    redefine(&server, &versions("v2")).await;
    let new = create(&server, WIDGETS_V2, &in_v2(&widget("new", json!({})))).await;
    let annotations = json!({"svc.io/storage-migration": "asked"});
    let patch = json!({"metadata": {"annotations": annotations}}).to_string();
    assert_eq!(server.send(Method::PATCH, DEFINITION, &MERGE, patch).await.status, 200);
    let done = until_body(&server, DEFINITION, |_, object| {
        object["metadata"]["annotations"]["svc.io/storage-migration"]
            .as_str()
            .is_some_and(|progress| progress.starts_with("done"))
    })
    .await;
    let progress = &done["metadata"]["annotations"]["svc.io/storage-migration"];
    assert_eq!(progress, "done version=v2 seen=301 written=300");
    assert_eq!(done["status"]["storedVersions"], json!(["v2"]));
    redefine(&server, &[version("v2", true, json!({}))]).await;
    let list = server.get(WIDGETS_V2).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 301);
    assert!(list["items"].as_array().unwrap().contains(&new), "it was not written again");
}

#[tokio::test]
async fn each_version_that_is_served_has_an_api_service() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let services = "/apis/apiregistration.svc.io/v1/apiservices";
    let of = |version: &str| format!("{services}/{version}.x.example");
    let until = async |version: &str, wanted: u16| {
        until_body(&server, &of(version), |status, _| status == wanted).await
    };
    define(&server, &[version("v1", true, json!({})), version("v2", false, json!({}))]).await;
    let found = until("v1", 200).await;
    let spec = json!({"group": "x.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100});
    assert_eq!(found["spec"], spec);
    assert_eq!(found["metadata"]["labels"]["kube-aggregator.svc.io/automanaged"], "true");
    assert_eq!(found["status"]["conditions"][0]["reason"], "Local");
    until("v2", 200).await;
    let patch = json!({"spec": {"versionPriority": 7}}).to_string();
    assert_eq!(server.send(Method::PATCH, &of("v1"), &MERGE, patch).await.status, 200);
    until_body(&server, &of("v1"), |_, found| found["spec"] == spec).await;
    assert_eq!(server.send(Method::DELETE, &of("v1"), &[], "").await.status, 200);
    until("v1", 200).await;
    let own = json!({"metadata": {"name": "v9.x.example"}, "spec": {"group": "x.example",
        "version": "v9", "groupPriorityMinimum": 1, "versionPriority": 1}});
    let made = server.send(Method::POST, services, &[], own.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    redefine(&server, &[version("v1", true, json!({})), unserved(version("v2", false, json!({})))])
        .await;
    until("v2", 404).await;
    assert_eq!(server.send(Method::DELETE, DEFINITION, &[], "").await.status, 200);
    until("v1", 404).await;
    assert_eq!(server.get(&of("v9")).await.status, 200, "another client made it");
}
