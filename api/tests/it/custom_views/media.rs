//! Media types of custom objects.

use http::Method;
use serde_json::json;

use super::{WIDGETS, create, send, server, widgets};
use crate::harness::Server;

const PROTOBUF: &str = "application/vnd.svc.protobuf";

#[tokio::test]
async fn objects_have_no_protobuf_form_and_their_metadata_has() {
    let (server, _controllers) = server().await;
    widgets(&server, json!({})).await;
    create(&server, "a", json!({"spec": {"a": 1}})).await;
    let one = format!("{WIDGETS}/a");
    let watch = format!("{WIDGETS}?watch=1&timeoutSeconds=1");
    for path in [one.as_str(), WIDGETS, &watch] {
        assert_eq!(server.get_as(path, PROTOBUF).await.status, 406, "{path}");
        let answer = server.get_as(path, &format!("{PROTOBUF},application/json")).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").starts_with("application/json"), "{path}");
    }
    for (path, kind) in [(one.as_str(), ""), (WIDGETS, "List")] {
        let accept = format!("{PROTOBUF};as=PartialObjectMetadata{kind};g=meta.svc.io;v=v1");
        let answer = server.get_as(path, &accept).await;
        assert_eq!((answer.status.as_u16(), &answer.body[..4]), (200, &b"k8s\0"[..]), "{path}");
    }
    let message = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml";
    let answer = send(&server, Method::POST, WIDGETS, PROTOBUF, json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.json()["message"].clone()), (415, json!(message)));
}

#[tokio::test]
async fn objects_are_not_merged_strategically() {
    let (server, _controllers) = server().await;
    widgets(&server, json!({})).await;
    create(&server, "a", json!({"spec": {"a": 1}})).await;
    let media = "application/strategic-merge-patch+json";
    let answer = send(&server, Method::PATCH, &format!("{WIDGETS}/a"), media, json!({})).await;
    let message = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    assert_eq!((answer.status.as_u16(), answer.json()["message"].clone()), (415, json!(message)));
}

#[tokio::test]
async fn objects_have_a_form_in_cbor() {
    const CBOR: &str = "application/cbor";
    let server = Server::with_gates("CBORServingAndStorage=true").await;
    let _controllers = server.defaults().await;
    let columns = json!([{"name": "A", "type": "string", "jsonPath": ".spec.a"}]);
    widgets(&server, json!({"additionalPrinterColumns": columns})).await;
    create(&server, "a", json!({"spec": {"a": "text", "b": [1.5, null, {"c": true}]}})).await;
    let table = format!("{CBOR};as=Table;g=meta.svc.io;v=v1");
    for (path, accept) in
        [(format!("{WIDGETS}/a"), CBOR), (WIDGETS.to_owned(), CBOR), (WIDGETS.to_owned(), &table)]
    {
        let answer = server.get_as(&path, accept).await;
        assert_eq!(answer.status, 200, "{path}");
        let object = quorate_wire::cbor::parse(&answer.body).expect("CBOR");
        let shown = format!("{object:?}");
        assert!(shown.contains("text"), "{path}: {shown}");
    }
}
