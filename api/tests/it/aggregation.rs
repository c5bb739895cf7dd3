//! Aggregated ClusterRoles: rules that a client writes into one, in whatever way, are overwritten
//! by the controller.

use http::Method;
use serde_json::{Value, json};

use crate::controllers::{start, until_body};
use crate::harness::Server;

const ROLES: &str = "/apis/rbac.authorization.svc.io/v1/clusterroles";

fn rules(verb: &str) -> Value {
    json!([{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}])
}

/// The role `sum`, which gathers what is labelled so, with these rules of its own.
fn sum(rules: Value) -> Value {
    let selectors = json!([{"matchLabels": {"into": "sum"}}]);
    let mut role = part_of_sum(rules);
    role["aggregationRule"] = json!({ "clusterRoleSelectors": selectors });
    role
}

/// The part of `sum` that a client applies to set these rules.
fn part_of_sum(rules: Value) -> Value {
    let metadata = json!({"name": "sum"});
    json!({"apiVersion": "rbac.authorization.svc.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

async fn make(server: &Server, role: Value) {
    let made = server.send(Method::POST, ROLES, &[], role.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

#[tokio::test(start_paused = true)]
async fn what_somebody_writes_into_a_role_that_gathers_rules_is_overwritten() {
    let (server, _controllers) = start();
    make(
        &server,
        json!({"metadata": {"name": "part", "labels": {"into": "sum"}}, "rules": rules("get")}),
    )
    .await;
    make(&server, sum(rules("delete"))).await;
    let path = format!("{ROLES}/sum");
    let gathered =
        async || until_body(&server, &path, |_, body| body["rules"] == rules("get")).await;
    let before = gathered().await;
    let merged = json!({"rules": rules("delete")});
    let replaced = json!([{"op": "replace", "path": "/rules", "value": rules("delete")}]);
    let apply = "application/apply-patch+yaml";
    for (method, query, media, body) in [
        (Method::PUT, "", "application/json", sum(rules("delete"))),
        (Method::PATCH, "", "application/merge-patch+json", merged.clone()),
        (Method::PATCH, "", "application/strategic-merge-patch+json", merged),
        (Method::PATCH, "", "application/json-patch+json", replaced),
        (Method::PATCH, "?fieldManager=m&force=true", apply, part_of_sum(rules("delete"))),
    ] {
        let headers = [("content-type", media)];
        let written =
            server.send(method, &format!("{path}{query}"), &headers, body.to_string()).await;
        assert_eq!(written.status, 200, "{media}: {}", written.text());
        assert_eq!(written.json()["rules"], rules("delete"), "{media} is written as any other");
        let after = gathered().await;
        assert_ne!(after["metadata"]["resourceVersion"], written.version(), "{media}");
        assert_eq!(after["aggregationRule"], before["aggregationRule"], "{media}");
    }
    // An apply without `force` is a conflict that names the owner of the rules.
    let headers = [("content-type", apply)];
    let body = part_of_sum(rules("delete")).to_string();
    let refused =
        server.send(Method::PATCH, &format!("{path}?fieldManager=n"), &headers, body).await;
    let why = "Apply failed with 1 conflict: conflict with \"clusterrole-aggregation-controller\": .rules";
    assert_eq!((refused.status.as_u16(), refused.json()["message"].as_str()), (409, Some(why)));
}
