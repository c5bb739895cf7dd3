//! The past over HTTP: reads as of a moment, histories, blame, and the changes of the cluster.

mod changes;
mod definitions;
mod history;
mod intruders;
mod purges;
mod reads;
mod watches;

use http::Method;
use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

/// A server with the namespace `a` that forgets soon what it does not archive.
async fn forgetful() -> Server {
    let server = Server::with(Naming::Svc, Retention { time_ms: 400, ..Retention::default() });
    server.namespace("a").await;
    server
}

/// The text that an answer has at a place, empty for none.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

async fn refusal(server: &Server, path: &str) -> (u16, String) {
    let answer = server.get(path).await;
    (answer.status.as_u16(), text(&answer.json(), "/message").to_owned())
}

async fn post(server: &Server, path: &str, body: Value) {
    let answer = server.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Gives a user these rules in a namespace, or everywhere.
async fn allow(server: &Server, user: &str, namespace: Option<&str>, rules: Value) {
    const RBAC: &str = "/apis/rbac.authorization.svc.io/v1";
    let (place, kind) = match namespace {
        Some(namespace) => (format!("{RBAC}/namespaces/{namespace}/role"), "Role"),
        None => (format!("{RBAC}/clusterrole"), "ClusterRole"),
    };
    let name = format!("{user}-{}", namespace.unwrap_or("all"));
    post(server, &format!("{place}s"), json!({"metadata": {"name": name}, "rules": rules})).await;
    let subjects = json!([{"kind": "User", "name": user}]);
    let role = json!({"kind": kind, "name": name});
    let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
    post(server, &format!("{place}bindings"), binding).await;
}
