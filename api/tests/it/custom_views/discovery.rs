//! Discovery of custom groups.

use http::Method;
use serde_json::{Value, json};

use super::{DEFINITIONS, define, server, version};
use crate::harness::Server;

const AGGREGATED: &str = "application/json;as=APIGroupDiscoveryList;g=apidiscovery.svc.io;v=v2";

async fn establish(server: &Server, group: &str, names: &[&str]) {
    let versions: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(at, name)| version(json!({"name": name, "storage": at == 0})))
        .collect();
    define(server, "widgets", group, "Widget", json!(versions)).await;
}

fn names<'v>(list: &'v Value, name: &str) -> Vec<&'v str> {
    let name = |item: &'v Value| item.pointer(name).and_then(Value::as_str).unwrap_or_default();
    let all: Vec<&str> = list.as_array().expect("a list").iter().map(name).collect();
    all.into_iter().filter(|name| name.ends_with(".example")).collect()
}

#[tokio::test]
async fn groups_and_versions_come_in_their_order() {
    let (server, _controllers) = server().await;
    establish(&server, "b.example", &["v1beta1", "v2alpha1"]).await;
    establish(&server, "c.example", &["v1alpha1", "v1", "other", "v10", "v2beta1"]).await;
    establish(&server, "a.example", &["v1beta1"]).await;
    let list = server.get("/apis").await.json();
    // By `v1.c.example`, `v1beta1.a.example` and `v1beta1.b.example`.
    assert_eq!(names(&list["groups"], "/name"), ["c.example", "a.example", "b.example"]);
    let document = server.get_as("/apis", AGGREGATED).await.json();
    let order = ["a.example", "b.example", "c.example"];
    assert_eq!(names(&document["items"], "/metadata/name"), order);
    let group = server.get("/apis/c.example").await.json();
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .map(|version| version["version"].as_str().expect("a name"))
        .collect();
    assert_eq!(versions, ["v10", "v1", "v2beta1", "v1alpha1", "other"]);
    assert_eq!(group["preferredVersion"]["version"], "v10");
    assert_eq!(server.get("/apis/d.example").await.status, 404);
    assert_eq!(server.get("/apis/c.example/v3").await.status, 404);
    let resources = server.get("/apis/a.example/v1beta1").await.json();
    let widgets = &resources["resources"][0];
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    assert_eq!(widgets["verbs"], json!(verbs));
    assert!(widgets["storageVersionHash"].is_string());
}

#[tokio::test]
async fn the_etag_tells_changes() {
    let (server, _controllers) = server().await;
    let etag = async || {
        let answer = server.get_as("/apis", AGGREGATED).await;
        assert_eq!(answer.status, 200);
        answer.header("etag").to_owned()
    };
    let first = etag().await;
    establish(&server, "a.example", &["v1"]).await;
    let second = etag().await;
    assert_ne!(first, second);
    assert_eq!(etag().await, second);
    let headers = [("accept", AGGREGATED), ("if-none-match", second.as_str())];
    assert_eq!(server.send(Method::GET, "/apis", &headers, "").await.status, 304);
    let patch =
        json!({"spec": {"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"]}}});
    let path = format!("{DEFINITIONS}/widgets.a.example");
    let answer = super::send(&server, Method::PATCH, &path, super::MERGE, patch).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let is_accepted =
        |object: &Value| object["status"]["acceptedNames"]["shortNames"] == json!(["w"]);
    crate::controllers::until_body(&server, &path, |_, object| is_accepted(object)).await;
    // The names are served as soon as the next request comes.
    assert_eq!(
        server.get("/apis/a.example/v1").await.json()["resources"][0]["shortNames"],
        json!(["w"])
    );
    assert_ne!(etag().await, second);
}

#[tokio::test]
async fn built_in_versions_are_not_left_to_definitions() {
    let (server, _controllers) = server().await;
    let versions = json!([version(json!({})), version(json!({"name": "v2", "storage": false}))]);
    define(&server, "gadgets", "networking.svc.io", "Gadget", versions).await;
    let names = |document: &Value| -> Vec<String> {
        let all = document["resources"].as_array().expect("resources").iter();
        all.map(|resource| resource["name"].as_str().expect("a name").to_owned()).collect()
    };
    let built_in = server.get("/apis/networking.svc.io/v1").await.json();
    assert!(!names(&built_in).contains(&"gadgets".to_owned()), "{built_in}");
    let custom = server.get("/apis/networking.svc.io/v2").await.json();
    assert_eq!(names(&custom), ["gadgets"]);
    let group = server.get("/apis/networking.svc.io").await.json();
    assert_eq!(group["preferredVersion"]["version"], "v2");
    let documents = server.get("/openapi/v3").await.json();
    assert!(documents["paths"]["apis/networking.svc.io/v2"].is_object());
}
