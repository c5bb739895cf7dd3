//! Controllers come to rest, and go on with the others where something is wrong with one object.

use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::controllers::{send, start, until, until_body};

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_certificate_cannot_be_kept_holds_up_no_other() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let map = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps/svc-root-ca.crt");
    until(&server, &map("a"), 200).await;
    let fixed = json!({"metadata": {"name": "svc-root-ca.crt"}, "immutable": true, "data": {"ca.crt": "other"}});
    assert_eq!(send(&server, Method::PUT, &map("a"), fixed).await, 200);
    server.namespace("b").await;
    until(&server, &map("b"), 200).await;
    assert_eq!(server.get(&map("a")).await.json()["data"]["ca.crt"], "other");
    assert_eq!(send(&server, Method::DELETE, &map("a"), json!({})).await, 200);
    until_body(&server, &map("a"), |_, body| body["data"]["ca.crt"] == "PEM").await;
}

#[tokio::test(start_paused = true)]
async fn roles_that_aggregate_each_other_come_to_rest() {
    let (server, _controllers) = start();
    let roles = "/apis/rbac.authorization.svc.io/v1/clusterroles";
    let make = async |name: &str, gathers: Option<&str>, verbs: &[&str]| {
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]);
        let mut role = json!({"metadata": {"name": name, "labels": {"of": name}}, "rules": rules});
        if let Some(other) = gathers {
            role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"of": other}}]});
        }
        assert_eq!(send(&server, Method::POST, roles, role).await, 201);
    };
    make("b", Some("a"), &["list"]).await;
    make("a", Some("b"), &["get"]).await;
    let path = |name: &str| format!("{roles}/{name}");
    for name in ["a", "b"] {
        until_body(&server, &path(name), |_, body| body["rules"].as_array().is_none_or(Vec::is_empty)).await;
    }
    let versions = async || {
        let [a, b] = [server.get(&path("a")).await, server.get(&path("b")).await];
        [a, b].map(|role| role.json()["metadata"]["resourceVersion"].clone())
    };
    let before = versions().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(versions().await, before);
}
