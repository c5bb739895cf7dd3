//! Cluster IPs of Services over HTTP: a Service that needs an address has it from its creation on,
//! or is not created.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const SERVICES: &str = "/api/v1/namespaces/a/services";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

async fn send(server: &Server, method: Method, path: &str, media: &str, body: &Value) -> Answer {
    let path = if media == APPLY { format!("{path}?fieldManager=m") } else { path.to_owned() };
    server.send(method, &path, &[("content-type", media)], &body.to_string()).await
}

fn service(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

async fn create(server: &Server, name: &str, spec: Value) -> Answer {
    send(server, Method::POST, SERVICES, "application/json", &service(name, &spec)).await
}

#[track_caller]
fn refused(answer: &Answer) {
    let why = "failed to allocate a serviceIP: no ServiceCIDR with IPv4 addresses is ready";
    assert_eq!(answer.status, 500, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["reason"], "InternalError");
    assert!(body["message"].as_str().unwrap().contains(why), "{body}");
}

#[track_caller]
fn has_address(answer: &Answer) {
    assert!(answer.status.is_success(), "{}", answer.text());
    let spec = &answer.json()["spec"];
    assert!(spec["clusterIP"].as_str().unwrap().starts_with("10.96."), "{spec}");
    assert_eq!(
        (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("SingleStack"))
    );
}

/// Every way to write a service of this name that there is not.
async fn write_each_way(server: &Server, name: &str, mut check: impl FnMut(&Answer)) {
    let ports = json!({"ports": [{"port": 80}]});
    let own = format!("{SERVICES}/{name}");
    let ways = [
        (Method::POST, format!("{SERVICES}?dryRun=All"), "application/json"),
        (Method::PUT, format!("{own}?dryRun=All"), "application/json"),
        (Method::POST, SERVICES.to_owned(), "application/json"),
        (Method::PUT, own.clone(), "application/json"),
        (Method::PATCH, own.clone(), APPLY),
    ];
    for (method, path, media) in ways {
        let answer = send(server, method, &path, media, &service(name, &ports)).await;
        check(&answer);
        let stored = answer.status.is_success() && !path.contains("dryRun");
        assert_eq!(server.get(&own).await.status, if stored { 200 } else { 404 }, "{path}");
        if stored {
            assert_eq!(
                send(server, Method::DELETE, &own, "application/json", &json!({})).await.status,
                200
            );
        }
    }
}

#[tokio::test]
async fn before_there_is_a_range_no_service_is_created_that_needs_an_address() {
    let server = Server::with_namespace().await;
    write_each_way(&server, "s", refused).await;
    let node = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_080}]});
    refused(&create(&server, "node", node.clone()).await);
    assert!(server.get(SERVICES).await.names().is_empty());
    server.range().await;
    write_each_way(&server, "s", has_address).await;
    has_address(&create(&server, "node", node).await);
}

#[tokio::test]
async fn before_there_is_a_range_services_without_addresses_are_as_ever_and_stay_so() {
    let server = Server::with_namespace().await;
    let headless =
        create(&server, "headless", json!({"clusterIP": "None", "selector": {"a": "b"}})).await;
    assert_eq!(headless.status, 201, "{}", headless.text());
    let spec = &headless.json()["spec"];
    assert_eq!(
        (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("SingleStack"))
    );
    let alias =
        create(&server, "alias", json!({"type": "ExternalName", "externalName": "x.example.com"}))
            .await;
    assert_eq!(alias.status, 201, "{}", alias.text());
    let own = format!("{SERVICES}/alias");
    let to_cluster =
        json!({"spec": {"type": "ClusterIP", "externalName": null, "ports": [{"port": 80}]}});
    let ways = [
        (Method::PATCH, MERGE, to_cluster.clone()),
        (Method::PUT, "application/json", service("alias", &json!({"ports": [{"port": 80}]}))),
        (
            Method::PATCH,
            APPLY,
            service("alias", &json!({"type": "ClusterIP", "ports": [{"port": 80}]})),
        ),
    ];
    for (method, media, body) in ways {
        let path =
            if media == APPLY { format!("{own}?force=true&fieldManager=m") } else { own.clone() };
        refused(&server.send(method, &path, &[("content-type", media)], &body.to_string()).await);
        assert_eq!(server.get(&own).await.json(), alias.json());
    }
    server.range().await;
    has_address(&send(&server, Method::PATCH, &own, MERGE, &to_cluster).await);
}

#[tokio::test]
async fn while_the_only_range_goes_services_keep_addresses_and_no_further_one_gets_any() {
    let server = Server::with_namespace().await;
    server.range().await;
    let made = create(&server, "s", json!({"ports": [{"port": 80}]})).await;
    has_address(&made);
    let range = "/apis/networking.svc.io/v1/servicecidrs/svc";
    assert_eq!(
        send(&server, Method::DELETE, range, "application/json", &json!({})).await.status,
        200
    );
    refused(&create(&server, "more", json!({"ports": [{"port": 80}]})).await);
    let own = format!("{SERVICES}/s");
    let changed =
        send(&server, Method::PATCH, &own, MERGE, &json!({"metadata": {"labels": {"k": "v"}}}))
            .await;
    has_address(&changed);
    assert_eq!(changed.json()["spec"], made.json()["spec"]);
}
