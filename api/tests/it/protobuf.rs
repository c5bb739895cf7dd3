//! Protobuf bodies, as typed clients send them: objects, options, both names of the media type,
//! refusals.

use http::Method;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_store::Retention;
use quorate_wire::protobuf::{Envelope, encode};
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const MAP: &str = "/api/v1/namespaces/a/configmaps/m";
const SVC: &str = "application/vnd.svc.protobuf";
const KUBERNETES: &str = "application/vnd.kubernetes.protobuf";

/// An object of a type with a neutral name as a protobuf body.
fn body(ty: &str, object: Value) -> Vec<u8> {
    let graph = Graph::builtin(Naming::Svc.names());
    let id = graph.type_named(ty).unwrap().id;
    encode(&graph, id, &object.into()).unwrap()
}

fn config_map(data: &str) -> Vec<u8> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": data}});
    body("core/v1.ConfigMap", object)
}

async fn send(server: &Server, method: Method, path: &str, media: &str, body: &[u8]) -> Answer {
    server.send(method, path, &[("content-type", media)], body).await
}

/// The answer to a POST of these bytes as a ConfigMap: code and message.
async fn check_refused(server: &Server, media: &str, body: &[u8], code: u16, message: &str) {
    let answer = send(server, Method::POST, MAPS, media, body).await;
    assert_eq!((answer.status.as_u16(), answer.json()["message"].as_str()), (code, Some(message)));
}

#[tokio::test]
async fn objects_are_created_and_replaced() {
    let server = Server::with_namespace().await;
    let created = send(&server, Method::POST, MAPS, SVC, &config_map("1")).await;
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(created.json(), server.get(MAP).await.json());
    assert_eq!(created.json()["data"], json!({"k": "1"}));
    // Values that are zero in protobuf are no part of the object, nor of what its writer owns.
    let fields = created.json()["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(fields, json!({"f:data": {".": {}, "f:k": {}}}));
    let replaced = send(&server, Method::PUT, MAP, KUBERNETES, &config_map("2")).await;
    assert_eq!((replaced.status.as_u16(), &replaced.json()["data"]), (200, &json!({"k": "2"})));
}

#[tokio::test]
async fn the_media_type_belongs_to_the_profile() {
    let server = Server::with(Naming::Kubernetes, Retention::default());
    server.namespace("a").await;
    assert_eq!(send(&server, Method::POST, MAPS, KUBERNETES, &config_map("1")).await.status, 201);
    let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    check_refused(&server, SVC, &config_map("1"), 415, &message).await;
}

#[tokio::test]
async fn options_of_a_deletion() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let options = |uid: &str| {
        let object = json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
        body("meta/v1.DeleteOptions", object)
    };
    assert_eq!(send(&server, Method::DELETE, MAP, SVC, &options("other")).await.status, 409);
    let uid = server.get(MAP).await.json()["metadata"]["uid"].as_str().unwrap().to_owned();
    assert_eq!(send(&server, Method::DELETE, MAP, SVC, &options(&uid)).await.status, 200);
    let wrong = send(&server, Method::DELETE, MAP, SVC, &config_map("1")).await;
    assert_eq!((wrong.status.as_u16(), wrong.json()["reason"].as_str()), (400, Some("BadRequest")));
}

#[tokio::test]
async fn bodies_that_are_refused() {
    let server = Server::with_namespace().await;
    let refused = |problem: &str, excerpt: &str| {
        format!(
            "the object provided is unrecognized (must be of type ConfigMap): protobuf: {problem} ({excerpt})"
        )
    };
    let prefix = refused("body does not begin with the expected prefix", "{}");
    check_refused(&server, SVC, b"{}", 400, &prefix).await;
    check_refused(&server, SVC, b"k8s\0", 400, &refused("unexpected end of message", "6b387300"))
        .await;
    let other = Envelope { api_version: "v1", kind: "Secret", raw: b"\xff" }.write();
    let message = "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (Secret) to (ConfigMap): unknown conversion";
    check_refused(&server, SVC, &other, 400, message).await;
    let unknown_field =
        Envelope { api_version: "v1", kind: "ConfigMap", raw: b"\x0a\x03\x0a\x01m\xa0\x06\x01" }
            .write();
    let created =
        send(&server, Method::POST, &format!("{MAPS}?fieldValidation=Strict"), SVC, &unknown_field)
            .await;
    assert_eq!(created.status, 201, "{}", created.text());
}
