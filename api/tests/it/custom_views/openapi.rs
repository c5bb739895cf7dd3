//! OpenAPI documents about custom resources.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::{DEFINITIONS, MERGE, define, send, server, version};
use crate::harness::Server;
use crate::openapi::{difference_of_forms, references};

/// The schema of a version with most words.
fn rich() -> Value {
    let spec = json!({"type": "object", "required": ["size", "open"], "properties": {
        "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "exclusiveMaximum": true, "multipleOf": 2},
        "name": {"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 5, "enum": ["a", "ab"], "default": "a"},
        "port": {"x-svc-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "open": {"type": "object", "nullable": true, "x-svc-preserve-unknown-fields": true},
        "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "object", "required": ["k"],
            "properties": {"k": {"type": "string"}}}, "x-svc-list-type": "map", "x-svc-list-map-keys": ["k"]},
        "map": {"type": "object", "maxProperties": 9, "minProperties": 1, "additionalProperties": {"type": "number"}},
        "one": {"type": "string", "oneOf": [{"pattern": "a"}, {"pattern": "b"}], "not": {"enum": ["c"]}}}});
    json!({"openAPIV3Schema": {"type": "object", "description": "A widget.", "properties": {"spec": spec}}})
}

async fn rich_widgets(server: &Server, group: &str) {
    let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let more = json!({"schema": rich(), "subresources": {"status": {}, "scale": scale}});
    define(server, "widgets", group, "Widget", json!([version(more)])).await;
}

/// The URLs of the documents of version 3 by their path.
async fn index(server: &Server) -> BTreeMap<String, String> {
    let index = server.get("/openapi/v3").await.json();
    let paths = index["paths"].as_object().expect("paths").iter();
    let url = |value: &Value| value["serverRelativeURL"].as_str().expect("a URL").to_owned();
    paths.map(|(path, value)| (path.clone(), url(value))).collect()
}

#[tokio::test]
async fn documents_describe_custom_resources() {
    let (server, _controllers) = server().await;
    rich_widgets(&server, "x.example").await;
    let documents = index(&server).await;
    let url = &documents["apis/x.example/v1"];
    let part = server.get(url).await.json();
    let widget = &part["components"]["schemas"]["example.x.v1.Widget"];
    assert_eq!(widget["description"], "A widget.");
    assert_eq!(widget["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    let spec = &widget["properties"]["spec"]["properties"];
    assert_eq!((&spec["size"]["maximum"], &spec["open"]["nullable"]), (&json!(10), &json!(true)));
    assert!(
        part["paths"]["/apis/x.example/v1/namespaces/{namespace}/widgets/{name}/scale"].is_object()
    );
    let whole = server.get("/openapi/v2").await.json();
    let spec = &whole["definitions"]["example.x.v1.Widget"]["properties"]["spec"];
    assert_eq!(spec["required"], json!(["size"]));
    assert_eq!(spec["properties"]["open"]["type"], Value::Null);
    assert!(whole["paths"]["/apis/x.example/v1/widgets"].is_object());
    assert!(whole["paths"]["/api/v1/namespaces"].is_object());
    references::check("/openapi/v2", &whole, "/definitions");
    references::check(url, &part, "/components/schemas");
}

#[tokio::test]
async fn both_forms_say_the_same_of_custom_resources() {
    let (server, _controllers) = server().await;
    rich_widgets(&server, "x.example").await;
    rich_widgets(&server, "y.example").await;
    assert_eq!(difference_of_forms(&server, "/openapi/v2").await, None);
    let url = &index(&server).await["apis/y.example/v1"];
    assert_eq!(difference_of_forms(&server, url).await, None);
}

#[tokio::test]
async fn a_change_of_one_definition_leaves_the_documents_of_others() {
    let (server, _controllers) = server().await;
    let groups = ["x.example", "y.example", "z.example"];
    for group in groups {
        rich_widgets(&server, group).await;
    }
    let before = index(&server).await;
    let whole = server.get("/openapi/v2").await;
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "Other."}]);
    let path = format!("{DEFINITIONS}/widgets.y.example");
    let media = "application/json-patch+json";
    let answer = send(&server, Method::PATCH, &path, media, patch).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let after = index(&server).await;
    let changed: Vec<&String> = before
        .iter()
        .filter(|(path, url)| after.get(*path) != Some(url))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, ["apis/y.example/v1"]);
    let newest = server.get("/openapi/v2").await;
    assert_ne!(whole.header("etag"), newest.header("etag"));
    let mut expect = whole.json();
    expect["definitions"]["example.y.v1.Widget"]["description"] = json!("Other.");
    assert_eq!(newest.json(), expect);
    // What only the controllers see changes nothing.
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(send(&server, Method::PATCH, &path, MERGE, label).await.status, 200);
    assert_eq!(server.get("/openapi/v2").await.header("etag"), newest.header("etag"));
    let old = before["apis/y.example/v1"].clone();
    let answer = server.get(&old).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (301, after["apis/y.example/v1"].as_str())
    );
    let deleted = server.send(Method::DELETE, &path, &[], "").await;
    assert!(deleted.status.is_success(), "{}", deleted.text());
    crate::controllers::until(&server, &path, 404).await;
    assert_eq!(server.get("/openapi/v3/apis/y.example/v1").await.status, 404);
    let whole = server.get("/openapi/v2").await.json();
    assert_eq!(whole["definitions"]["example.y.v1.Widget"], Value::Null);
}
