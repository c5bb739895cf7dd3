//! The `scale` subresource over HTTP: read, replaced, patched and applied, with its owners in the
//! workload.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const WEB: &str = "/apis/apps/v1/namespaces/a/deployments/web";
const SCALE: &str = "/apis/apps/v1/namespaces/a/deployments/web/scale";

async fn send(server: &Server, method: Method, path: &str, media: &str, body: Value) -> Answer {
    server.send(method, path, &[("content-type", media)], &body.to_string()).await
}

async fn apply(server: &Server, path: &str, manager: &str, body: Value) -> Answer {
    let path = format!("{path}?fieldManager={manager}");
    send(server, Method::PATCH, &path, "application/apply-patch+yaml", body).await
}

fn scale(replicas: i64) -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": replicas}})
}

/// A server with a Deployment that the manager `owner` has applied.
async fn deployed() -> Server {
    let server = Server::with_namespace().await;
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
    assert_eq!(apply(&server, WEB, "owner", body).await.status, 201);
    server
}

#[tokio::test]
async fn a_scale_is_a_view_of_its_object() {
    let server = deployed().await;
    let (web, shown) = (server.get(WEB).await.json(), server.get(SCALE).await.json());
    assert_eq!((&shown["kind"], &shown["spec"]), (&json!("Scale"), &json!({"replicas": 2})));
    assert_eq!(shown["status"], json!({"replicas": 0, "selector": "app=web"}));
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        assert_eq!(shown["metadata"][field], web["metadata"][field], "{field}");
    }
    assert_eq!(server.get(&SCALE.replace("web", "none")).await.status, 404);
}

#[tokio::test]
async fn who_writes_the_status_asks_for_no_other_generation() {
    let server = deployed().await;
    let status = format!("{WEB}/status");
    for (path, note, expect) in [(&*status, "seen", 1), (WEB, "seen", 1), (WEB, "other", 2)] {
        let change = json!({"metadata": {"annotations": {"note": note}}});
        let answer =
            send(&server, Method::PATCH, path, "application/merge-patch+json", change).await.json();
        assert_eq!(answer["metadata"]["generation"], expect, "{path} {note}: {answer}");
    }
}

#[tokio::test]
async fn replicas_are_changed_through_it() {
    let server = deployed().await;
    let replaced = send(&server, Method::PUT, SCALE, "application/json", scale(3)).await;
    assert_eq!(
        (replaced.status.as_u16(), &replaced.json()["spec"]),
        (200, &json!({"replicas": 3}))
    );
    let merge = "application/merge-patch+json";
    let patched =
        send(&server, Method::PATCH, SCALE, merge, json!({"spec": {"replicas": 0}})).await;
    assert_eq!((patched.status.as_u16(), &patched.json()["spec"]), (200, &json!({})));
    let web = server.get(WEB).await.json();
    assert_eq!(web["spec"]["replicas"], 0);
    let negative = send(&server, Method::PUT, SCALE, "application/json", scale(-1)).await;
    let body = negative.json();
    assert_eq!((negative.status.as_u16(), &body["details"]["kind"]), (422, &json!("Scale")));
    assert_eq!(body["details"]["causes"][0]["field"], "spec.replicas");
    let stale = json!({"metadata": {"resourceVersion": "1"}});
    assert_eq!(send(&server, Method::PATCH, SCALE, merge, stale).await.status, 409);
}

#[tokio::test]
async fn whoever_scales_owns_the_replicas_of_the_object() {
    let server = deployed().await;
    let refused = apply(&server, SCALE, "scaler", scale(5)).await;
    assert_eq!(refused.json()["details"]["causes"][0]["field"], ".spec.replicas");
    let forced = apply(&server, SCALE, "scaler&force=true", scale(5)).await;
    assert_eq!((forced.status.as_u16(), &forced.json()["spec"]), (200, &json!({"replicas": 5})));
    let web = server.get(WEB).await.json();
    let entries = web["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == "scaler").unwrap();
    assert_eq!((&entry["subresource"], &entry["apiVersion"]), (&json!("scale"), &json!("apps/v1")));
    assert_eq!(entry["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    let mut labelled = scale(5);
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(apply(&server, SCALE, "scaler", labelled).await.status, 200);
    assert_eq!(server.get(WEB).await.json()["metadata"]["labels"], Value::Null, "a scale has none");
    let absent = apply(&server, &SCALE.replace("web", "none"), "scaler", json!({})).await;
    assert_eq!(absent.status, 404);
}

#[tokio::test]
async fn a_scale_is_checked_and_warned_of_as_any_other_write() {
    let server = deployed().await;
    let partials = "application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1";
    let (json, merge, apply) =
        ("application/json", "application/merge-patch+json", "application/apply-patch+yaml");
    for (method, media) in [(Method::PUT, json), (Method::PATCH, merge), (Method::PATCH, apply)] {
        let (path, headers) =
            (format!("{SCALE}?fieldManager=m"), [("content-type", media), ("accept", partials)]);
        let refused = server.send(method, &path, &headers, scale(7).to_string()).await;
        assert_eq!(refused.status, 406, "{media}: {}", refused.text());
        assert_eq!(
            server.get(WEB).await.json()["spec"]["replicas"],
            2,
            "{media}: nothing is written"
        );
    }
    let body = "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec:\n  replicas: 3\n  replicas: 4\n";
    let check = async |method: Method, media: &str, level: &str, expect: (u16, &str)| {
        let path = format!("{SCALE}?fieldManager=m&force=true&fieldValidation={level}");
        let path = if media == apply { path } else { path.replace("&force=true", "") };
        let answer = server.send(method, &path, &[("content-type", media)], body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("warning")),
            expect,
            "{media}: {}",
            answer.text()
        );
    };
    for (method, media) in [(Method::PUT, "application/yaml"), (Method::PATCH, apply)] {
        let told = r#"299 - "line 6: key \"replicas\" already set in map""#;
        check(method.clone(), media, "Strict", (400, "")).await;
        check(method.clone(), media, "Warn", (200, told)).await;
        check(method, media, "Ignore", (200, "")).await;
    }
    assert_eq!(server.get(WEB).await.json()["spec"]["replicas"], 4);
}

/// The media type of another form of objects, in the name that a group has.
fn form(kind: &str, group: &str) -> String {
    format!("application/json;as={kind};v=v1;g={group}")
}

#[tokio::test]
async fn a_scale_comes_in_every_form() {
    let server = deployed().await;
    let plain = server.get(SCALE).await.json();
    let table = server.get_as(SCALE, &form("Table", "meta.svc.io")).await;
    assert_eq!(table.status, 200, "{}", table.text());
    let table = table.json();
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.svc.io/v1")));
    let columns = table["columnDefinitions"].as_array().unwrap().iter();
    let columns: Vec<_> =
        columns.map(|column| (column["name"].clone(), column["type"].clone())).collect();
    let expect =
        [("Name", "string"), ("Desired", "integer"), ("Available", "integer"), ("Age", "string")];
    assert_eq!(columns, expect.map(|(name, kind)| (json!(name), json!(kind))));
    assert_eq!(table["metadata"], json!({"resourceVersion": plain["metadata"]["resourceVersion"]}));
    let metadata = &plain["metadata"];
    let metadata = json!({"apiVersion": "meta.svc.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata});
    assert_eq!(table["rows"], json!([{"cells": ["web", 2, 0, "0s"], "object": metadata}]));
    let whole = server
        .get_as(&format!("{SCALE}?includeObject=Object"), &form("Table", "meta.k8s.io"))
        .await
        .json();
    assert_eq!(
        (&whole["apiVersion"], &whole["rows"][0]["object"]),
        (&json!("meta.k8s.io/v1"), &plain)
    );
    let partial = server.get_as(SCALE, &form("PartialObjectMetadata", "meta.svc.io")).await;
    assert_eq!((partial.status.as_u16(), partial.json()), (200, metadata));
    let list = server.get_as(SCALE, &form("PartialObjectMetadataList", "meta.svc.io")).await;
    let why = "you requested PartialObjectMetadataList, but the requested object is not a list (*autoscaling.Scale)";
    assert_eq!((list.status.as_u16(), &list.json()["message"]), (406, &json!(why)));
}

#[tokio::test]
async fn a_written_scale_comes_in_every_form() {
    let server = deployed().await;
    let (table, partial) =
        (form("Table", "meta.svc.io"), form("PartialObjectMetadata", "meta.k8s.io"));
    for (method, media, replicas) in [
        (Method::PUT, "application/json", 3),
        (Method::PATCH, "application/merge-patch+json", 0),
        (Method::PATCH, "application/apply-patch+yaml", 5),
    ] {
        let force = if media.contains("apply") { "&force=true" } else { "" };
        let path = format!("{SCALE}?fieldManager=m{force}");
        let write = async |accept: &str| {
            let headers = [("content-type", media), ("accept", accept)];
            let written =
                server.send(method.clone(), &path, &headers, scale(replicas).to_string()).await;
            assert_eq!(written.status, 200, "{media}: {}", written.text());
            written.json()
        };
        let written = write(&table).await;
        assert_eq!(written["rows"][0]["cells"], json!(["web", replicas, 0, "0s"]), "{media}");
        let written = write(&partial).await;
        let web = server.get(WEB).await.json();
        let kind = (&written["kind"], &written["apiVersion"], &written["metadata"]["uid"]);
        let expect =
            (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"), &web["metadata"]["uid"]);
        assert_eq!(kind, expect, "{media}");
        assert_eq!(
            written["metadata"]["resourceVersion"], web["metadata"]["resourceVersion"],
            "{media}"
        );
    }
}
