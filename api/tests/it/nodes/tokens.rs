//! The tokens that nodes get for their pods.

use http::Method;
use quorate_access::authentication::User;
use quorate_access::authorization::ModeOptions;
use serde_json::{Value, json};

use super::{CORE, account, make, mirror, node, pod, setting, status, to_pod};
use crate::harness::Server;

#[tokio::test]
async fn a_node_gets_tokens_that_end_with_its_pods() {
    let (server, node) = setting().await;
    make(&server, "/api/v1/nodes", json!({"metadata": {"name": "n1"}})).await;
    pod(&server, "mine", "n1").await;
    pod(&server, "other", "n2").await;
    make(&server, &format!("{CORE}/secrets"), json!({"metadata": {"name": "mine"}})).await;
    let groups = ["system:nodes".to_owned(), "system:masters".to_owned()];
    let master = server.by(Some(User::new("system:node:n1", groups)));
    let check = async |bound: Value, expect: u16, why: &str| {
        let body = json!({"spec": {"boundObjectRef": bound}}).to_string();
        let path = format!("{CORE}/serviceaccounts/robot/token");
        let answer = node.send(Method::POST, &path, &[], &body).await;
        assert_eq!(answer.status, expect, "{bound}: {}", answer.text());
        assert!(answer.text().contains(why), "{bound}: {}", answer.text());
        for by in [&server, &master] {
            assert_eq!(
                by.send(Method::POST, &path, &[], &body).await.status,
                201,
                "others may: {bound}"
            );
        }
    };
    let to = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name});
    let refused = r#"serviceaccounts \"robot\" is forbidden: node requested token"#;
    check(to_pod(&server, "mine").await, 201, "").await;
    check(to("Pod", "mine"), 403, &format!("{refused} with a pod binding without a uid")).await;
    let elsewhere = format!("{refused} bound to a pod scheduled on a different node");
    check(to_pod(&server, "other").await, 403, &elsewhere).await;
    for bound in [json!(null), to("Secret", "mine"), to("Node", "n1")] {
        check(bound, 403, &format!("{refused} not bound to a pod")).await;
    }
}

#[tokio::test]
async fn a_node_gets_tokens_of_the_default_account_for_pods_that_name_none() {
    let (server, node) = setting().await;
    account(&server, "default").await;
    let check = async |pod: &str, expect: u16| {
        let body = json!({"spec": {"boundObjectRef": to_pod(&server, pod).await}}).to_string();
        let path = format!("{CORE}/serviceaccounts/default/token");
        let answer = node.send(Method::POST, &path, &[], body).await;
        assert_eq!(answer.status, expect, "{pod}: {}", answer.text());
    };
    // A mirror pod gives its node no token, and the node cannot make it a plain pod.
    make(&node, &format!("{CORE}/pods"), mirror("made-up", "n1")).await;
    check("made-up", 403).await;
    let headers = [("content-type", "application/merge-patch+json")];
    let patch = json!({"metadata": {"annotations": {"svc.io/config.mirror": null}}}).to_string();
    let turned =
        node.send(Method::PATCH, &format!("{CORE}/pods/made-up/status"), &headers, patch).await;
    assert_eq!(turned.status, 403, "{}", turned.text());
    check("made-up", 403).await;
    let spec = json!({"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]});
    make(&server, &format!("{CORE}/pods"), json!({"metadata": {"name": "plain"}, "spec": spec}))
        .await;
    check("plain", 201).await;
    check("made-up", 400).await;
}

#[tokio::test]
async fn tokens_are_bound_to_pods_only_where_nodes_have_a_mode() {
    let server = Server::with_modes(vec![ModeOptions::AlwaysAllow]);
    server.namespace("a").await;
    account(&server, "robot").await;
    let path = format!("{CORE}/serviceaccounts/robot/token");
    assert_eq!(status(&node(&server, "n1"), Method::POST, &path).await, 201);
}
