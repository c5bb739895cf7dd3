//! Unreadable stored objects: how reads show them, and the forced deletion (KEP-3926) that alone
//! removes them.

use bytes::Bytes;
use http::Method;
use quorate_access::authentication::User;
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
    let operations = vec![Operation::Put {
        key,
        value: Bytes::from_static(b"\xffnothing that was ever written"),
    }];
    server
        .api
        .store
        .txn(Txn { conditions: Vec::new(), operations, ..Txn::default() })
        .await
        .unwrap();
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
    assert_eq!(
        delete(&server, &format!("{MAPS}/good"), json!({OPTION: true})).await,
        422,
        "it can be read"
    );
    assert_eq!(delete(&server, &format!("{MAPS}/none"), json!({OPTION: true})).await, 404);
    assert_eq!(delete(&server, BAD, json!({OPTION: true})).await, 200);
    assert_eq!(server.get(BAD).await.status, 404);
    assert_eq!(server.get(MAPS).await.names(), ["good"]);
}

#[tokio::test]
async fn a_forced_deletion_has_no_other_options() {
    let server = damaged().await;
    let check = async |query: &str, body: String, other: &str| {
        let refused = server.send(Method::DELETE, &format!("{BAD}?{query}"), &[], &body).await;
        assert_eq!(refused.status, 422, "{query} {body}: {}", refused.text());
        let causes = refused.json()["details"]["causes"].clone();
        let why = format!("Invalid value: true: cannot be set together with .{other}");
        assert_eq!(
            causes,
            json!([{"reason": "FieldValueInvalid", "message": why, "field": OPTION}]),
            "{query} {body}"
        );
        assert_eq!(server.get(BAD).await.status, 500, "{query} {body}: it is still there");
    };
    for (other, value) in [
        ("dryRun", json!(["All"])),
        ("gracePeriodSeconds", json!(0)),
        ("orphanDependents", json!(true)),
        ("orphanDependents", json!(false)),
        ("preconditions", json!({"uid": "u"})),
        ("preconditions", json!({"resourceVersion": "1"})),
        ("propagationPolicy", json!("Orphan")),
    ] {
        check("", json!({OPTION: true, other: value}).to_string(), other).await;
    }
    let other_by_query = [
        ("dryRun", "All"),
        ("gracePeriodSeconds", "0"),
        ("orphanDependents", "true"),
        ("orphanDependents", "false"),
        ("propagationPolicy", "Orphan"),
    ];
    for (other, value) in other_by_query {
        check(&format!("{OPTION}=true&{other}={value}"), String::new(), other).await;
    }
    check("dryRun=All", json!({OPTION: true}).to_string(), "dryRun").await;
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
