//! Custom resources over HTTP: served when their definition is established, as it says, on every
//! node, until it is gone.

use std::sync::Arc;

use http::Method;
use quorate_store::{MemoryOptions, MemoryStore};
use serde_json::{Value, json};

use crate::controllers::until_body;
use crate::harness::{Server, TestClock};

const DEFINITIONS: &str = "/apis/apiextensions.svc.io/v1/customresourcedefinitions";
pub(crate) const DEFINITION: &str =
    "/apis/apiextensions.svc.io/v1/customresourcedefinitions/widgets.x.example";
pub(crate) const WIDGETS: &str = "/apis/x.example/v1/namespaces/a/widgets";
pub(crate) const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];

pub(crate) fn version(name: &str, storage: bool, spec: Value) -> Value {
    let spec = json!({"type": "object", "properties": spec});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn definition(versions: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.svc.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.example"},
        "spec": {
            "group": "x.example", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["w"]},
            "versions": versions
        }
    })
}

pub(crate) fn widget(name: &str, spec: Value) -> String {
    json!({"apiVersion": "x.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
        .to_string()
}

pub(crate) async fn define(server: &Server, versions: &[Value]) {
    let answer =
        server.send(Method::POST, DEFINITIONS, &[], definition(versions).to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    until_body(server, DEFINITION, |_, object| is_established(object)).await;
}

fn is_established(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

#[tokio::test]
async fn an_established_resource_is_served_at_once() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    assert_eq!(server.get(WIDGETS).await.status, 404);
    define(&server, &[version("v1", true, json!({"n": {"type": "integer", "default": 3}}))]).await;
    let answer = server.send(Method::POST, WIDGETS, &[], widget("a", json!({"x": 1}))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["spec"], json!({"n": 3}));
    let list = server.get(WIDGETS).await.json();
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (&json!("WidgetList"), &json!("Widget"))
    );
}

#[tokio::test]
async fn a_change_is_in_force_for_the_next_request() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    define(&server, &[version("v1", true, json!({}))]).await;
    for round in 0..20 {
        let field = format!("f{round}");
        let versions = [
            version("v1", true, json!({&field: {"type": "string"}})),
            version(&format!("v2alpha{}", round + 1), false, json!({})),
        ];
        let patch = json!({"spec": {"versions": versions}}).to_string();
        let answer = server.send(Method::PATCH, DEFINITION, &MERGE, patch).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let created =
            server.send(Method::POST, WIDGETS, &[], widget(&field, json!({&field: "x"}))).await;
        assert_eq!(created.json()["spec"], json!({&field: "x"}), "{}", created.text());
        let newest = format!("/apis/x.example/v2alpha{}/widgets", round + 1);
        assert_eq!(server.get(&newest).await.status, 200);
        let before = format!("/apis/x.example/v2alpha{round}/widgets");
        assert_eq!(server.get(&before).await.status, 404);
    }
}

#[tokio::test]
async fn every_node_serves_what_is_established() {
    let clock = Arc::<TestClock>::default();
    let store: Arc<MemoryStore> = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let first = Server::over(store.clone(), clock.clone());
    let second = Server::over(store, clock);
    let _controllers = first.defaults().await;
    first.namespace("a").await;
    define(&first, &[version("v1", true, json!({}))]).await;
    let answer = second.send(Method::POST, WIDGETS, &[], widget("a", json!({}))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

#[tokio::test]
async fn objects_and_watches_end_with_their_definition() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    define(&server, &[version("v1", true, json!({}))]).await;
    let names = ["a", "b", "c"];
    for name in names {
        server.send(Method::POST, WIDGETS, &[], widget(name, json!({}))).await;
    }
    let mut watch = server.watch(&format!("{WIDGETS}?watch=1")).await;
    assert_eq!(watch.brief(3).await, ["ADDED a", "ADDED b", "ADDED c"]);
    let answer = server.send(Method::DELETE, DEFINITION, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let refused = server.send(Method::POST, WIDGETS, &[], widget("late", json!({}))).await;
    assert!(matches!(refused.status.as_u16(), 403 | 404), "{}", refused.text());
    let mut rest = watch.all().await;
    rest.sort_unstable();
    assert_eq!(rest, ["DELETED a", "DELETED b", "DELETED c"]);
    assert_eq!(server.get(WIDGETS).await.status, 404);
    // Another definition of the name begins with nothing.
    define(&server, &[version("v1", true, json!({}))]).await;
    assert!(server.get(WIDGETS).await.names().is_empty());
}

#[tokio::test]
async fn objects_are_counted_by_quotas() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    define(&server, &[version("v1", true, json!({}))]).await;
    let quota =
        json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/widgets.x.example": "1"}}});
    let quotas = "/api/v1/namespaces/a/resourcequotas";
    let answer = server.send(Method::POST, quotas, &[], quota.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let path = format!("{quotas}/q");
    until_body(&server, &path, |_, quota| !quota["status"]["hard"].is_null()).await;
    let first = server.send(Method::POST, WIDGETS, &[], widget("a", json!({}))).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let second = server.send(Method::POST, WIDGETS, &[], widget("b", json!({}))).await;
    assert_eq!(second.status, 403, "{}", second.text());
}

#[tokio::test]
async fn a_namespace_takes_its_custom_objects_along() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    define(&server, &[version("v1", true, json!({}))]).await;
    server.send(Method::POST, WIDGETS, &[], widget("a", json!({}))).await;
    server.send(Method::DELETE, "/api/v1/namespaces/a", &[], "").await;
    until_body(&server, "/apis/x.example/v1/widgets", |_, list| {
        list["items"].as_array().is_some_and(Vec::is_empty)
    })
    .await;
}
