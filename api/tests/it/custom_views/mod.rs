//! What clients see of custom resources beyond the objects: tables, scales, media types, discovery
//! and OpenAPI documents.

mod discovery;
mod media;
mod openapi;
mod scale;
mod tables;

use http::Method;
use serde_json::{Value, json};

use crate::controllers::until_body;
use crate::harness::{Answer, Server};

const DEFINITIONS: &str = "/apis/apiextensions.svc.io/v1/customresourcedefinitions";
const MERGE: &str = "application/merge-patch+json";
const WIDGETS: &str = "/apis/x.example/v1/namespaces/a/widgets";

/// A server with the namespace `a` whose controllers run.
async fn server() -> (Server, quorate_controllers::ControllersHandle) {
    let server = Server::with_namespace().await;
    let controllers = server.defaults().await;
    (server, controllers)
}

/// Version v1, stored, with a schema that keeps everything, and with what `more` says.
fn version(more: Value) -> Value {
    let open = json!({"type": "object", "x-svc-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    for (name, value) in more.as_object().expect("fields") {
        version[name] = value.clone();
    }
    version
}

/// Establishes a definition of namespaced objects.
async fn define(server: &Server, plural: &str, group: &str, kind: &str, versions: Value) {
    let name = format!("{plural}.{group}");
    let approved = json!({"api-approved.svc.io": "unapproved, a test"});
    let body = json!({
        "apiVersion": "apiextensions.svc.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name, "annotations": approved},
        "spec": {"group": group, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind}}
    });
    let answer = server.send(Method::POST, DEFINITIONS, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let is_established = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
    };
    until_body(server, &format!("{DEFINITIONS}/{name}"), |_, object| is_established(object)).await;
}

/// Establishes widgets of `x.example` with a version of which `more` says more.
async fn widgets(server: &Server, more: Value) {
    define(server, "widgets", "x.example", "Widget", json!([version(more)])).await;
}

/// Creates a widget with these fields.
async fn create(server: &Server, name: &str, fields: Value) {
    let mut body =
        json!({"apiVersion": "x.example/v1", "kind": "Widget", "metadata": {"name": name}});
    for (field, value) in fields.as_object().expect("fields") {
        body[field] = value.clone();
    }
    let answer = server.send(Method::POST, WIDGETS, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Sends a body of a media type.
async fn send(server: &Server, method: Method, path: &str, media: &str, body: Value) -> Answer {
    server.send(method, path, &[("content-type", media)], body.to_string()).await
}
