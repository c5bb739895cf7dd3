//! What the leader does by itself.

use std::time::Duration;

use http::Method;
use quorate_api::controllers::{Controllers, ControllersHandle, ControllersOptions};
use serde_json::{Value, json};

use crate::harness::Server;

const LIFETIME: Duration = Duration::from_secs(6);
/// Steps of 20 ms (of paused time, in some tests) that a controller may take.
const PATIENCE_STEPS: usize = 2000;

/// A server whose controllers run until the handle is dropped or stopped.
fn start() -> (Server, ControllersHandle) {
    let server = Server::new();
    let options = ControllersOptions { api: server.api.clone(), root_ca: "PEM".into(), event_lifetime: LIFETIME };
    let (controllers, handle) = Controllers::new(options);
    tokio::spawn(controllers.run());
    (server, handle)
}

/// Waits until a GET answers with this code; gives its body.
async fn until(server: &Server, path: &str, status: u16) -> Value {
    until_body(server, path, |code, _| code == status).await
}

async fn until_body(server: &Server, path: &str, accept: impl Fn(u16, &Value) -> bool) -> Value {
    let mut answer = server.get(path).await;
    for _ in 0..PATIENCE_STEPS {
        if accept(answer.status.as_u16(), &answer.json()) {
            return answer.json();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        answer = server.get(path).await;
    }
    panic!("{path} stays {}", answer.text());
}

async fn send(server: &Server, method: Method, path: &str, body: Value) -> u16 {
    server.send(method, path, &[], &body.to_string()).await.status.as_u16()
}

#[tokio::test]
async fn every_cluster_has_its_namespaces_and_every_namespace_its_account() {
    let (server, _controllers) = start();
    for name in ["default", "svc-system", "svc-public", "svc-node-lease"] {
        until(&server, &format!("/api/v1/namespaces/{name}"), 200).await;
        until(&server, &format!("/api/v1/namespaces/{name}/serviceaccounts/default"), 200).await;
    }
    server.namespace("a").await;
    let account = "/api/v1/namespaces/a/serviceaccounts/default";
    let first = until(&server, account, 200).await["metadata"]["uid"].clone();
    assert_eq!(send(&server, Method::DELETE, account, json!({})).await, 200);
    until_body(&server, account, |code, body| code == 200 && body["metadata"]["uid"] != first).await;
    let map = "/api/v1/namespaces/a/configmaps/svc-root-ca.crt";
    assert_eq!(until(&server, map, 200).await["data"], json!({"ca.crt": "PEM"}));
    let changed = json!({"metadata": {"name": "svc-root-ca.crt", "labels": {"mine": ""}}, "data": {"ca.crt": "other"}});
    assert_eq!(send(&server, Method::PUT, map, changed).await, 200);
    let restored = until_body(&server, map, |_, body| body["data"]["ca.crt"] == "PEM").await;
    assert_eq!(restored["metadata"]["labels"], json!({"mine": ""}), "what is not the controller's stays");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_is_emptied_and_goes() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    for name in ["m", "n"] {
        server.create("a", name, &[]).await;
    }
    server.patch("n", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    assert_eq!(send(&server, Method::DELETE, "/api/v1/namespaces/a", json!({})).await, 200);
    until(&server, "/api/v1/namespaces/a/configmaps/m", 404).await;
    let held = until_body(&server, "/api/v1/namespaces/a", |_, body| body["status"]["conditions"].is_array()).await;
    assert_eq!(held["status"]["phase"], "Terminating");
    let conditions = held["status"]["conditions"].as_array().unwrap();
    let shown: Vec<_> = conditions
        .iter()
        .map(|c| format!("{}={}", c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
        .collect();
    assert!(shown.contains(&"NamespaceFinalizersRemaining=True".to_owned()), "{shown:?}");
    let late = json!({"metadata": {"name": "late"}});
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/a/configmaps", late).await, 403);
    server.patch("n", json!({"metadata": {"finalizers": null}})).await;
    until(&server, "/api/v1/namespaces/a", 404).await;
    assert_eq!(server.get("/api/v1/namespaces/a/configmaps").await.names().len(), 0);
    server.namespace("a").await;
}

#[tokio::test(start_paused = true)]
async fn events_expire_and_what_is_written_again_lives_on() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let events = "/api/v1/namespaces/a/events";
    for name in ["old", "kept"] {
        let event = json!({"metadata": {"name": name}, "involvedObject": {"namespace": "a"}});
        assert_eq!(send(&server, Method::POST, events, event).await, 201);
    }
    tokio::time::sleep(LIFETIME / 2).await;
    let again = json!({"metadata": {"name": "kept"}, "involvedObject": {"namespace": "a"}, "count": 2});
    assert_eq!(send(&server, Method::PUT, &format!("{events}/kept"), again).await, 200);
    until(&server, &format!("{events}/old"), 404).await;
    assert_eq!(server.get(events).await.names(), ["kept"]);
    until(&server, &format!("{events}/kept"), 404).await;
}

#[tokio::test(start_paused = true)]
async fn stopped_controllers_do_nothing() {
    let (server, controllers) = start();
    until(&server, "/api/v1/namespaces/default/serviceaccounts/default", 200).await;
    controllers.stop();
    server.namespace("a").await;
    tokio::time::sleep(10 * LIFETIME).await;
    assert_eq!(server.get("/api/v1/namespaces/a/serviceaccounts/default").await.status, 404);
}
