//! Audiences of the tokens that a node may request for its pods.

use http::Method;
use serde_json::json;

use crate::harness::Server;
use crate::nodes::{CORE, make, setting, to_pod};

/// CSI drivers whose volumes need tokens, each for an audience of its own.
async fn make_drivers(server: &Server) {
    for (driver, audience) in [
        ("inline.example", "a"),
        ("claimed.example", "b"),
        ("own.example", "c"),
        ("idle.example", "d"),
    ] {
        let spec = json!({"tokenRequests": [{"audience": audience}]});
        make(
            server,
            "/apis/storage.svc.io/v1/csidrivers",
            json!({"metadata": {"name": driver}, "spec": spec}),
        )
        .await;
    }
}

/// Claims that are bound to volumes of such drivers.
async fn make_claims(server: &Server) {
    for (claim, driver) in [("shared", "claimed.example"), ("mine-own", "own.example")] {
        let modes = json!(["ReadWriteOnce"]);
        let size = json!({"storage": "1"});
        let volume = json!({"capacity": size, "accessModes": modes, "csi": {"driver": driver, "volumeHandle": "h"}});
        make(
            server,
            "/api/v1/persistentvolumes",
            json!({"metadata": {"name": claim}, "spec": volume}),
        )
        .await;
        let spec =
            json!({"volumeName": claim, "accessModes": modes, "resources": {"requests": size}});
        let path = format!("{CORE}/persistentvolumeclaims");
        make(server, &path, json!({"metadata": {"name": claim}, "spec": spec})).await;
    }
}

/// A pod of the node that names audiences in each of the ways there are.
async fn make_pod(server: &Server) {
    let token =
        |audience: &str| json!({"serviceAccountToken": {"audience": audience, "path": audience}});
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}});
    let volumes = json!([
        {"name": "tokens", "projected": {"sources": [token("vault"), {"serviceAccountToken": {"path": "api"}}]}},
        {"name": "inline", "csi": {"driver": "inline.example"}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": template}},
    ]);
    let containers = json!([{"name": "c", "image": "i"}]);
    let spec = json!({"nodeName": "n1", "serviceAccountName": "robot", "volumes": volumes, "containers": containers});
    make(server, &format!("{CORE}/pods"), json!({"metadata": {"name": "mine"}, "spec": spec}))
        .await;
}

#[tokio::test]
async fn a_node_gets_tokens_for_whom_its_pods_name() {
    let (server, node) = setting().await;
    make_drivers(&server).await;
    make_claims(&server).await;
    make_pod(&server).await;
    let check = async |audiences: &[&str], why: &str| {
        let bound = to_pod(&server, "mine").await;
        let body = json!({"spec": {"boundObjectRef": bound, "audiences": audiences}}).to_string();
        let answer = node
            .send(Method::POST, &format!("{CORE}/serviceaccounts/robot/token"), &[], body)
            .await;
        assert_eq!(
            answer.status,
            if why.is_empty() { 201 } else { 403 },
            "{audiences:?}: {}",
            answer.text()
        );
        assert!(answer.text().contains(why), "{audiences:?}: {}", answer.text());
    };
    for audience in ["vault", "a", "b", "c"] {
        check(&[audience], "").await;
    }
    check(&[], "").await;
    check(&["vault", "a"], "node may only request 0 or 1 audiences").await;
    let not_found = "not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience";
    check(&["d"], not_found).await;
    let rbac = "/apis/rbac.authorization.svc.io/v1";
    let rules = json!([{"verbs": ["request-serviceaccounts-token-audience"], "apiGroups": [""], "resources": ["d"]}]);
    make(
        &server,
        &format!("{rbac}/clusterroles"),
        json!({"metadata": {"name": "d"}, "rules": rules}),
    )
    .await;
    let role = json!({"apiGroup": "rbac.authorization.svc.io", "kind": "ClusterRole", "name": "d"});
    let nodes = json!([{"kind": "Group", "name": "system:nodes"}]);
    let binding = json!({"metadata": {"name": "d"}, "roleRef": role, "subjects": nodes});
    make(&server, &format!("{rbac}/clusterrolebindings"), binding).await;
    check(&["d"], "").await;
    check(&["e"], not_found).await;
}
