//! Objects that cannot be read: how they show, and the one way to get rid of them.

use bytes::Bytes;
use http::Method;
use quorate_api::authentication::User;
use quorate_store::{Operation, Txn};
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const BAD: &str = "/api/v1/namespaces/a/configmaps/bad";
const OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// A server with a good object, and one of which the stored bytes are damaged.
async fn damaged() -> Server {
    let server = Server::with_namespace().await;
    server.create("a", "good", &[]).await;
    let key = Bytes::from_static(b"o/core/configmaps/a/bad");
    let operations = vec![Operation::Put { key, value: Bytes::from_static(b"\xffnothing that was ever written") }];
    server.api.store.txn(Txn { conditions: Vec::new(), operations }).await.unwrap();
    server
}

async fn delete(server: &Server, path: &str, options: Value) -> u16 {
    server.send(Method::DELETE, path, &[], options.to_string()).await.status.as_u16()
}

#[tokio::test]
async fn only_a_forced_deletion_removes_it() {
    let server = damaged().await;
    assert_eq!(server.get(BAD).await.status, 500);
    assert_eq!(delete(&server, BAD, json!({})).await, 500);
    assert_eq!(delete(&server, &format!("{MAPS}/good"), json!({OPTION: true})).await, 422, "it can be read");
    assert_eq!(delete(&server, &format!("{MAPS}/none"), json!({OPTION: true})).await, 404);
    for other in [json!({"dryRun": ["All"]}), json!({"gracePeriodSeconds": 0}), json!({"propagationPolicy": "Orphan"})]
    {
        let mut options = other;
        options[OPTION] = json!(true);
        assert_eq!(delete(&server, BAD, options).await, 422);
    }
    let query = format!("{BAD}?{OPTION}=true&dryRun=All");
    assert_eq!(server.send(Method::DELETE, &query, &[], "").await.status, 422);
    assert_eq!(delete(&server, &format!("{BAD}?dryRun=All"), json!({OPTION: true})).await, 422);
    assert_eq!(delete(&server, BAD, json!({OPTION: true})).await, 200);
    assert_eq!(server.get(BAD).await.status, 404);
    assert_eq!(server.get(MAPS).await.names(), ["good"]);
}

#[tokio::test]
async fn it_needs_a_permission_of_its_own() {
    let server = damaged().await;
    let role = |verbs: Value| {
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
        json!({"metadata": {"name": "r"}, "rules": rules}).to_string()
    };
    let roles = "/apis/rbac.authorization.svc.io/v1/namespaces/a/roles";
    assert_eq!(server.send(Method::POST, roles, &[], role(json!(["delete"]))).await.status, 201);
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}],
    });
    let bindings = "/apis/rbac.authorization.svc.io/v1/namespaces/a/rolebindings";
    assert_eq!(server.send(Method::POST, bindings, &[], binding.to_string()).await.status, 201);
    let user = server.by(Some(User::new("u", [])));
    assert_eq!(delete(&user, BAD, json!({OPTION: true})).await, 403);
    let all = role(json!(["delete", "unsafe-delete-ignore-read-errors"]));
    assert_eq!(server.send(Method::PUT, &format!("{roles}/r"), &[], all).await.status, 200);
    assert_eq!(delete(&user, BAD, json!({OPTION: true})).await, 200);
}
