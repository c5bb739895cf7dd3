//! Watches with selectors that the store wakes by: objects that come to match and stop to, by label,
//! by field, by name, and by fields of custom resources.

use http::Method;
use serde_json::json;

use crate::custom_resources::{DEFINITION, MERGE, WIDGETS, define, version, widget};
use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const PODS: &str = "/api/v1/namespaces/a/pods";

async fn post(server: &Server, path: &str, body: String) {
    let answer = server.send(Method::POST, path, &[], body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

#[tokio::test]
async fn labels_that_come_and_go() {
    let server = Server::with_namespace().await;
    server.create("a", "busy", &[("x", "0")]).await;
    let version = server.get(MAPS).await.version();
    let label = async |name: &str, value: serde_json::Value| {
        server.patch(name, json!({"metadata": {"labels": {"x": value}}})).await
    };
    for name in ["b", "c"] {
        server.create("a", name, &[]).await;
    }
    for (name, value) in [("b", json!("1")), ("c", json!("2")), ("b", json!("2"))] {
        label("busy", json!(format!("for-{name}"))).await;
        label(name, value).await;
    }
    label("b", json!(null)).await;
    label("c", json!("3")).await;
    let check = async |selector: &str, expect: &[&str]| {
        let path = |start: &str| {
            format!("{MAPS}?watch=1&timeoutSeconds=1&labelSelector={selector}{start}")
        };
        let mut watch = server.watch(&path(&format!("&resourceVersion={version}"))).await;
        assert_eq!(watch.all().await, expect, "{selector}");
    };
    check("x%3D1", &["ADDED b", "DELETED b"]).await;
    check("x%3D2", &["ADDED c", "ADDED b", "DELETED b", "DELETED c"]).await;
    check("x+in+(1,2)", &["ADDED b", "ADDED c", "MODIFIED b", "DELETED b", "DELETED c"]).await;
    check("x%3D2,x!%3D2", &[]).await;
}

#[tokio::test]
async fn a_bookmark_comes_while_nothing_matches() {
    let server = Server::with_namespace().await;
    let begin = server.create("a", "a", &[("x", "1")]).await;
    let path = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&labelSelector=x%3D1&resourceVersion={begin}"
    );
    let mut watch = server.watch(&path).await;
    let mut newest = String::new();
    for name in ["b", "c", "d"] {
        newest = server.create("a", name, &[("x", "2")]).await;
    }
    let bookmark = watch.next().await.expect("the deadline brings a bookmark");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], newest.as_str());
}

#[tokio::test]
async fn pods_of_a_node_and_objects_of_a_name() {
    let server = Server::for_pods().await;
    let version = server.get(PODS).await.version();
    let mut of_node = server
        .watch(&format!("{PODS}?watch=1&fieldSelector=spec.nodeName%3Dn&resourceVersion={version}"))
        .await;
    let mut of_name = server
        .watch(&format!(
            "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dq&resourceVersion={version}"
        ))
        .await;
    for name in ["p", "q"] {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        post(&server, PODS, json!({"metadata": {"name": name}, "spec": spec}).to_string()).await;
    }
    for (name, node) in [("p", "n"), ("q", "other")] {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}});
        post(&server, &format!("{PODS}/{name}/binding"), binding.to_string()).await;
    }
    assert_eq!(of_node.brief(1).await, ["ADDED p"]);
    assert_eq!(of_name.brief(2).await, ["ADDED q", "MODIFIED q"]);
}

#[tokio::test]
async fn fields_of_custom_resources() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let text = json!({"type": "string"});
    define(&server, &[version("v1", true, json!({"a": text}))]).await;
    for name in ["old", "older"] {
        post(&server, WIDGETS, widget(name, json!({"a": "1"}))).await;
    }
    // The headers of what is there lack the field, which is selectable from now on.
    let fields = json!({"a": text, "b": {"type": "string", "default": "new"}});
    let mut changed = version("v1", true, fields);
    changed["selectableFields"] = json!([{"jsonPath": ".spec.b"}]);
    let patch = json!({"spec": {"versions": [changed]}}).to_string();
    assert_eq!(server.send(Method::PATCH, DEFINITION, &MERGE, patch).await.status, 200);
    let list = server.get(WIDGETS).await;
    let begin = format!("watch=1&resourceVersion={}", list.version());
    let mut new = server.watch(&format!("{WIDGETS}?{begin}&fieldSelector=spec.b%3Dnew")).await;
    let mut other = server.watch(&format!("{WIDGETS}?{begin}&fieldSelector=spec.b%3Dother")).await;
    let patch = async |name: &str, b: &str| {
        let patch = json!({"spec": {"b": b}}).to_string();
        let answer = server.send(Method::PATCH, &format!("{WIDGETS}/{name}"), &MERGE, patch).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    patch("old", "other").await;
    patch("old", "another").await;
    patch("old", "new").await;
    let gone = server.send(Method::DELETE, &format!("{WIDGETS}/older"), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    post(&server, WIDGETS, widget("made", json!({"b": "other"}))).await;
    assert_eq!(new.brief(3).await, ["DELETED old", "ADDED old", "DELETED older"]);
    assert_eq!(other.brief(3).await, ["ADDED old", "DELETED old", "ADDED made"]);
}
