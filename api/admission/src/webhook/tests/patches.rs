//! Patches, sensible and wild.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// An answer that allows with a patch.
fn patch(review: &[u8], operations: Json) -> String {
    let patch = STANDARD.encode(operations.to_string());
    respond(review, json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}))
}

/// An answer that appends a text to what the review says.
fn append(review: &[u8], text: &str) -> String {
    let read: Json = serde_json::from_slice(review).unwrap();
    let log = read["request"]["object"]["data"]["log"].as_str().unwrap_or_default();
    patch(review, json!([{"op": "add", "path": "/data/log", "value": format!("{log}{text}")}]))
}

#[tokio::test]
async fn the_order_and_the_second_round() {
    let check = async |policy: &str, second: fn(&[u8]) -> String, expect: (&str, usize)| {
        let (server, cluster) = (Server::start().await, Cluster::new().await);
        let first = webhook("a", server.url("/a"), json!({"reinvocationPolicy": policy}));
        cluster.configure("Mutating", "b", vec![webhook("b", server.url("/b"), json!({}))]).await;
        cluster.configure("Mutating", "a", vec![first]).await;
        server.then(&[
            Does::Makes(|review| append(review, "1")),
            Does::Makes(second),
            Does::Makes(|review| append(review, "3")),
        ]);
        let created = cluster.create("x").await.unwrap();
        let log = created.str_at(&["data", "log"]).unwrap();
        assert_eq!((log, server.asked().len()), expect, "{policy}");
        cluster.notes()
    };
    check("Never", |review| append(review, "2"), ("12", 2)).await;
    check("IfNeeded", allow, ("1", 2)).await;
    let notes = check("IfNeeded", |review| append(review, "2"), ("123", 3)).await;
    let key = |what: &str, at: &str| format!("{what}.webhook.admission.svc.io/{at}");
    let mutated = r#"{"configuration":"a","mutated":true,"webhook":"a.hooks.example.com"}"#;
    assert_eq!(notes.annotations[&key("mutation", "round_1_index_0")], mutated);
    assert_eq!(notes.annotations.len(), 3);
    let patched: Json =
        serde_json::from_str(&notes.request_annotations[&key("patch", "round_0_index_1")]).unwrap();
    assert_eq!(patched["patch"][0]["value"], "12");
}

#[tokio::test]
async fn patches_that_make_no_sense() {
    let check = async |answer: fn(&[u8]) -> String, code: u16, expect: &str| {
        for policy in ["Fail", "Ignore"] {
            let (server, cluster) = (Server::start().await, Cluster::new().await);
            let hook = webhook("a", server.url("/"), json!({"failurePolicy": policy}));
            cluster.configure("Mutating", "c", vec![hook]).await;
            server.then(&[Does::Makes(answer)]);
            let refused = cluster.create("x").await.unwrap_err();
            assert!(refused.message.contains(expect), "{}", refused.message);
            assert_eq!(refused.code, code, "{}", refused.message);
        }
    };
    macro_rules! set {
        ($path:expr, $value:tt) => {
            |review| patch(review, json!([{"op": "add", "path": $path, "value": $value}]))
        };
    }
    let by = "field is immutable, and admission webhook \"a.hooks.example.com\" has changed it";
    check(set!("/metadata/name", "y"), 422, by).await;
    check(set!("/metadata/namespace", "y"), 422, by).await;
    check(set!("/metadata/uid", "y"), 422, by).await;
    check(set!("/metadata", {}), 422, by).await;
    check(set!("/kind", "Secret"), 500, "has changed the kind of the object").await;
    check(set!("", {}), 500, "has changed the apiVersion of the object").await;
    check(set!("/data", "text"), 500, "Internal error occurred: ").await;
    check(set!("/data/a b", "c"), 422, "data[a b]").await;
    check(
        |review| patch(review, json!([{"op": "test", "path": "/data/a", "value": "2"}])),
        500,
        "test",
    )
    .await;
}

#[tokio::test]
async fn metadata_of_the_server_stays() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.configure("Mutating", "c", vec![webhook("a", server.url("/"), json!({}))]).await;
    server.then(&[Does::Makes(|review| {
        let at = |field: &str, value: Json| json!({"op": "add", "path": format!("/metadata/{field}"), "value": value});
        patch(review, json!([
            at("deletionTimestamp", json!("2001-01-01T00:00:00Z")), at("resourceVersion", json!("7")),
            at("creationTimestamp", json!("2001-01-01T00:00:00Z")),
            at("managedFields", json!([{"manager": "x", "operation": "Wrong"}])), at("labels", json!({"by": "webhook"}))
        ]))
    })]);
    let created = cluster.create("x").await.unwrap();
    let metadata = |field: &str| created.str_at(&["metadata", field]);
    assert_eq!(metadata("deletionTimestamp"), None);
    assert_ne!(metadata("creationTimestamp"), Some("2001-01-01T00:00:00Z"));
    assert_eq!(created.str_at(&["metadata", "labels", "by"]), Some("webhook"));
    let managers = created.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap();
    assert_eq!(managers[0].str_at(&["manager"]), Some("m"));
}

#[tokio::test]
async fn a_deletion_has_nothing_to_patch() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.create("x").await.unwrap();
    cluster.configure("Mutating", "c", vec![webhook("a", server.url("/"), json!({}))]).await;
    let remove: fn(&[u8]) -> String =
        |review| patch(review, json!([{"op": "remove", "path": "/data"}]));
    server.then(&[Does::Makes(remove), Does::Makes(allow)]);
    let target = Target { name: "x", ..cluster.target("", "configmaps") };
    let options = quorate_registry::write::DeleteOptions::default();
    let refused = cluster.writer.delete(target, &options).await.unwrap_err().into_status();
    assert!(refused.message.ends_with("not supported for this operation"), "{}", refused.message);
    cluster.writer.delete(target, &options).await.unwrap();
}

#[tokio::test]
async fn an_equivalent_version_is_converted_there_and_back() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    let plural = "horizontalpodautoscalers";
    let rule = json!({"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": [plural], "operations": ["*"]});
    let hook = webhook("a", server.url("/"), json!({"rules": [rule]}));
    cluster.configure("Mutating", "c", vec![hook]).await;
    server.then(&[Does::Makes(|review| {
        let path = "/spec/targetCPUUtilizationPercentage";
        patch(review, json!([{"op": "add", "path": path, "value": 42}]))
    })]);
    let resource = cluster.catalogue.find("autoscaling", "v2", plural).unwrap();
    let target = Target { resource, namespace: Some("n"), name: "" };
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let object = json!({"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": reference}});
    let options = WriteOptions { dry_run: false, manager: "m", given: GivenOptions::NONE };
    cluster.writer.create(target, object.into(), options).await.unwrap();
    let review: Json = serde_json::from_slice(&server.asked()[0].body).unwrap();
    let request = &review["request"];
    assert_eq!(request["object"]["apiVersion"], "autoscaling/v1");
    assert_eq!(
        (&request["kind"]["version"], &request["requestKind"]["version"]),
        (&json!("v1"), &json!("v2"))
    );
    let entry = cluster.store.snapshot().get(&resource.key(Some("n"), "h")).cloned().unwrap();
    let stored = stored_codec::decode(resource, &entry).unwrap();
    let metric = stored.at(&["spec", "metrics"]).and_then(Value::as_list).unwrap()[0].clone();
    let target = metric.at(&["resource", "target", "averageUtilization"]).cloned();
    assert_eq!(target, Some(Value::from(42)));
}
