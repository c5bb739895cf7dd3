//! Node authorization and NodeRestriction, as requests of nodes meet them.

mod tokens;

use http::Method;
use quorate_access::authentication::User;
use quorate_access::authorization::ModeOptions;
use serde_json::{Value, json};

use crate::harness::Server;

pub(crate) const CORE: &str = "/api/v1/namespaces/a";

/// A server that lets nodes do what they need, with the account `robot` in the namespace `a`, and
/// the node `n1`.
pub(crate) async fn setting() -> (Server, Server) {
    let server = Server::with_modes(vec![ModeOptions::Nodes, ModeOptions::Rules]);
    server.namespace("a").await;
    account(&server, "robot").await;
    let node = node(&server, "n1");
    (server, node)
}

async fn account(server: &Server, name: &str) {
    make(server, &format!("{CORE}/serviceaccounts"), json!({"metadata": {"name": name}})).await;
}

fn node(server: &Server, name: &str) -> Server {
    server.by(Some(User::new(format!("system:node:{name}"), ["system:nodes".to_owned()])))
}

pub(crate) async fn make(server: &Server, path: &str, body: Value) {
    let answer = server.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
}

/// A pod at a node that refers to the secret and configuration of its own name, and uses the
/// account `robot`.
async fn pod(server: &Server, name: &str, node: &str) {
    let volumes = json!([
        {"name": "s", "secret": {"secretName": name}},
        {"name": "c", "configMap": {"name": name}},
        {"name": "p", "persistentVolumeClaim": {"claimName": name}},
    ]);
    let spec = json!({
        "nodeName": node, "serviceAccountName": "robot", "volumes": volumes,
        "containers": [{"name": "c", "image": "i"}]
    });
    make(server, &format!("{CORE}/pods"), json!({"metadata": {"name": name}, "spec": spec})).await;
}

async fn status(by: &Server, method: Method, path: &str) -> u16 {
    by.send(method, path, &[], "{}").await.status.as_u16()
}

/// Whether a request is let through, whatever becomes of it then.
async fn passes(by: &Server, method: Method, path: &str) -> bool {
    status(by, method, path).await != 403
}

#[tokio::test]
async fn a_node_reads_what_its_pods_refer_to_as_soon_as_they_are_bound() {
    let (server, node) = setting().await;
    for name in ["mine", "other"] {
        for plural in ["secrets", "configmaps"] {
            make(&server, &format!("{CORE}/{plural}"), json!({"metadata": {"name": name}})).await;
        }
    }
    let paths = |name: &str| {
        let watch = format!("{CORE}/secrets?fieldSelector=metadata.name%3D{name}");
        [format!("{CORE}/secrets/{name}"), format!("{CORE}/configmaps/{name}"), watch]
    };
    let check = async |by: &Server, name: &str, expect: u16| {
        for path in paths(name) {
            assert_eq!(status(by, Method::GET, &path).await, expect, "{path}");
        }
    };
    check(&node, "mine", 403).await;
    pod(&server, "mine", "n1").await;
    pod(&server, "other", "n2").await;
    check(&node, "mine", 200).await;
    check(&node, "other", 403).await;
    let text = node.get(&format!("{CORE}/secrets/other")).await.text();
    assert!(text.contains("no relationship found between node 'n1' and this object"), "{text}");
    let gone = server
        .send(Method::DELETE, &format!("{CORE}/pods/mine?gracePeriodSeconds=0"), &[], "")
        .await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    check(&node, "mine", 403).await;
}

#[tokio::test]
async fn volumes_are_found_through_claims() {
    let (server, node) = setting().await;
    let volume = |claim: &str| {
        json!({"metadata": {"name": claim}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d.example", "volumeHandle": "h", "nodeStageSecretRef": {"namespace": "a", "name": "stage"}},
            "claimRef": {"namespace": "a", "name": claim},
        }})
    };
    make(&server, &format!("{CORE}/secrets"), json!({"metadata": {"name": "stage"}})).await;
    make(&server, "/api/v1/persistentvolumes", volume("p")).await;
    let paths = ["/api/v1/persistentvolumes/p".to_owned(), format!("{CORE}/secrets/stage")];
    for path in &paths {
        assert_eq!(status(&node, Method::GET, path).await, 403, "{path}");
    }
    pod(&server, "p", "n1").await;
    for path in &paths {
        assert_eq!(status(&node, Method::GET, path).await, 200, "{path}");
    }
    let gone = server.send(Method::DELETE, "/api/v1/persistentvolumes/p", &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    let left = server.get("/api/v1/persistentvolumes/p").await;
    if left.status == 404 {
        assert_eq!(
            status(&node, Method::GET, &paths[1]).await,
            403,
            "without the volume nothing leads there"
        );
    }
}

#[tokio::test]
async fn a_node_looks_after_itself_and_its_pods() {
    let (server, node) = setting().await;
    pod(&server, "mine", "n1").await;
    pod(&server, "other", "n2").await;
    let lease = "/apis/coordination.svc.io/v1/namespaces/svc-node-lease/leases";
    let slices = "/apis/resource.svc.io/v1/resourceslices";
    let check = async |method: Method, path: &str, expect: bool| {
        assert_eq!(passes(&node, method.clone(), path).await, expect, "{method} {path}");
    };
    let (get, post, put, patch, delete) =
        (Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE);
    check(get.clone(), "/api/v1/nodes/n1", true).await;
    check(get.clone(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", true).await;
    check(get.clone(), "/api/v1/nodes/n2", false).await;
    check(get.clone(), "/api/v1/nodes", false).await;
    check(put.clone(), "/api/v1/nodes/n1", true).await;
    check(put.clone(), "/api/v1/nodes/n2", false).await;
    check(patch.clone(), "/api/v1/nodes/n1/status", true).await;
    check(patch.clone(), "/api/v1/nodes/n2/status", false).await;
    check(delete.clone(), "/api/v1/nodes/n1", false).await;
    check(get.clone(), &format!("{CORE}/pods/mine"), true).await;
    check(get.clone(), &format!("{CORE}/pods/other"), false).await;
    check(get.clone(), "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", true).await;
    check(get.clone(), "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", false).await;
    check(get.clone(), "/api/v1/pods", false).await;
    check(patch.clone(), &format!("{CORE}/pods/mine/status"), true).await;
    check(patch.clone(), &format!("{CORE}/pods/other/status"), false).await;
    check(post.clone(), &format!("{CORE}/pods/mine/eviction"), true).await;
    check(post.clone(), &format!("{CORE}/pods/other/eviction"), false).await;
    check(delete.clone(), &format!("{CORE}/pods/other"), false).await;
    check(put.clone(), &format!("{CORE}/pods/mine"), false).await;
    check(get.clone(), &format!("{lease}/n1"), true).await;
    check(put.clone(), &format!("{lease}/n1"), true).await;
    check(put.clone(), &format!("{lease}/n2"), false).await;
    check(get.clone(), lease, false).await;
    check(get.clone(), "/apis/coordination.svc.io/v1/namespaces/a/leases/n1", false).await;
    check(get.clone(), "/apis/storage.svc.io/v1/csinodes/n1", true).await;
    check(get.clone(), "/apis/storage.svc.io/v1/csinodes/n2", false).await;
    check(get.clone(), &format!("{slices}?fieldSelector=spec.nodeName%3Dn1"), true).await;
    check(delete.clone(), &format!("{slices}?fieldSelector=spec.nodeName%3Dn2"), false).await;
    check(get.clone(), slices, false).await;
    check(get.clone(), &format!("{CORE}/secrets"), false).await;
    check(put.clone(), &format!("{CORE}/secrets/mine"), false).await;
    check(get.clone(), &format!("{CORE}/serviceaccounts/robot"), true).await;
    // The account is let through, the token is not: it is for none of the node's pods.
    refused(
        &node,
        &format!("{CORE}/serviceaccounts/robot/token"),
        json!({}),
        "token not bound to a pod",
    )
    .await;
    check(post.clone(), &format!("{CORE}/serviceaccounts/default/token"), false).await;
    check(get.clone(), "/api/v1/services", true).await;
    check(get.clone(), "/apis/rbac.authorization.svc.io/v1/clusterroles", false).await;
    check(post.clone(), "/apis/certificates.svc.io/v1/certificatesigningrequests", true).await;
    // A user with a node's name outside the group of nodes, and a node without a name.
    for user in
        [User::new("system:node:n1", []), User::new("system:node:", ["system:nodes".to_owned()])]
    {
        let by = server.by(Some(user));
        assert!(!passes(&by, Method::GET, "/api/v1/nodes/n1").await);
    }
    check(delete, &format!("{CORE}/pods/mine"), true).await;
}

/// A pod that uses an account and a secret.
fn ordinary(node: &str) -> Value {
    let volumes = json!([{"name": "s", "secret": {"secretName": "s"}}]);
    let containers = json!([{"name": "c", "image": "i"}]);
    let spec = json!({"nodeName": node, "serviceAccountName": "x", "volumes": volumes, "containers": containers});
    json!({"metadata": {"name": "p"}, "spec": spec})
}

/// A pod that stands for one which a node runs by itself.
fn mirror(name: &str, node: &str) -> Value {
    let owner =
        json!({"apiVersion": "v1", "kind": "Node", "name": node, "uid": "u", "controller": true});
    let metadata = json!({"name": name, "annotations": {"svc.io/config.mirror": "x"}, "ownerReferences": [owner]});
    json!({"metadata": metadata, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}})
}

async fn refused(by: &Server, path: &str, body: Value, expect: &str) {
    let answer = by.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(answer.status, 403, "{path}: {}", answer.text());
    assert!(answer.text().contains(expect), "{path}: {}", answer.text());
}

#[tokio::test]
async fn a_node_creates_for_itself_alone() {
    let (server, node) = setting().await;
    server.namespace("svc-node-lease").await;
    let pods = format!("{CORE}/pods");
    make(&server, &format!("{CORE}/secrets"), json!({"metadata": {"name": "s"}})).await;
    account(&server, "x").await;
    refused(&node, &pods, ordinary("n1"), "can only create mirror pods").await;
    assert_eq!(status(&node, Method::GET, &format!("{CORE}/secrets/s")).await, 403);
    assert!(!passes(&node, Method::POST, &format!("{CORE}/serviceaccounts/x/token")).await);
    let mut uses = ordinary("n1");
    uses["metadata"] = mirror("p", "n1")["metadata"].clone();
    refused(&node, &pods, uses, "a mirror pod may not reference service accounts").await;
    let mut reads = mirror("p", "n1");
    reads["spec"]["volumes"] = json!([{"name": "c", "configMap": {"name": "c"}}]);
    refused(&node, &pods, reads, "can not create pods that reference configmaps").await;
    refused(&node, &pods, mirror("p", "n2"), "spec.nodeName set to itself").await;
    make(&node, &pods, mirror("p", "n1")).await;
    assert!(passes(&node, Method::DELETE, &format!("{pods}/p")).await);
    let named = |name: &str| json!({"metadata": {"name": name}});
    for path in [
        "/api/v1/nodes",
        "/apis/coordination.svc.io/v1/namespaces/svc-node-lease/leases",
        "/apis/storage.svc.io/v1/csinodes",
    ] {
        refused(&node, path, named("n2"), "with the same name as its own").await;
        refused(
            &node,
            path,
            json!({"metadata": {"generateName": "n1"}}),
            "with the same name as its own",
        )
        .await;
    }
    let slice = json!({"metadata": {"name": "s"}, "spec": {"nodeName": "n2"}});
    refused(&node, "/apis/resource.svc.io/v1/resourceslices", slice, "spec.nodeName set to itself")
        .await;
    make(&node, "/api/v1/nodes", named("n1")).await;
}

#[tokio::test]
async fn a_node_tells_what_becomes_of_a_pod_and_not_what_it_is() {
    let (server, node) = setting().await;
    pod(&server, "mine", "n1").await;
    let path = format!("{CORE}/pods/mine/status");
    let check = async |patch: Value, expect: u16| {
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = node.send(Method::PATCH, &path, &headers, patch.to_string()).await;
        assert_eq!(answer.status, expect, "{}", answer.text());
    };
    check(json!({"status": {"phase": "Running"}}), 200).await;
    check(json!({"metadata": {"labels": {"a": "b"}}}), 403).await;
    // The field's feature is off, so it is gone before the node's rights are looked at.
    check(json!({"status": {"extendedResourceClaimStatus": {"resourceClaimName": "r"}}}), 200)
        .await;
    let pod = server.get(&format!("{CORE}/pods/mine")).await.json();
    assert_eq!(pod["status"]["extendedResourceClaimStatus"], Value::Null);
}

/// The bound object of a token for a pod that exists.
pub(crate) async fn to_pod(server: &Server, name: &str) -> Value {
    let pod = server.get(&format!("{CORE}/pods/{name}")).await.json();
    json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]})
}

#[tokio::test]
async fn what_nodes_may_write_is_looked_at_only_where_nodes_have_a_mode() {
    let rbac = "/apis/rbac.authorization.svc.io/v1";
    for (modes, is_let) in [
        (vec![ModeOptions::Rules], true),
        (vec![ModeOptions::Rules, ModeOptions::Nodes], false),
        (vec![ModeOptions::AlwaysAllow], true),
        (vec![ModeOptions::Nodes, ModeOptions::AlwaysAllow], false),
    ] {
        let server = Server::with_modes(modes);
        server.namespace("a").await;
        account(&server, "x").await;
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]);
        make(
            &server,
            &format!("{rbac}/clusterroles"),
            json!({"metadata": {"name": "makes"}, "rules": rules}),
        )
        .await;
        let binding = json!({
            "metadata": {"name": "makes"}, "roleRef": {"kind": "ClusterRole", "name": "makes"},
            "subjects": [{"kind": "Group", "name": "system:nodes"}]
        });
        make(&server, &format!("{rbac}/clusterrolebindings"), binding).await;
        let pods = format!("{CORE}/pods");
        if is_let {
            make(&node(&server, "n1"), &pods, ordinary("n1")).await;
            continue;
        }
        refused(&node(&server, "n1"), &pods, ordinary("n1"), "can only create mirror pods").await;
        let groups = ["system:nodes".to_owned(), "system:masters".to_owned()];
        let master = server.by(Some(User::new("system:node:n1", groups)));
        make(&master, &pods, ordinary("n1")).await;
    }
}

#[tokio::test]
async fn a_pod_that_a_node_makes_up_leads_nowhere() {
    let (server, node) = setting().await;
    make(&server, &format!("{CORE}/configmaps"), json!({"metadata": {"name": "c"}})).await;
    let pod = json!({
        "metadata": {"name": "m", "annotations": {"svc.io/config.mirror": "x"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}],
                 "volumes": [{"name": "c", "configMap": {"name": "c"}}]}
    });
    make(&server, &format!("{CORE}/pods"), pod).await;
    assert_eq!(status(&node, Method::GET, &format!("{CORE}/pods/m")).await, 200);
    assert_eq!(status(&node, Method::GET, &format!("{CORE}/configmaps/c")).await, 403);
}

#[tokio::test]
async fn a_node_is_told_that_its_rights_cannot_be_listed() {
    let (server, node) = setting().await;
    let review = "/apis/authorization.svc.io/v1/selfsubjectrulesreviews";
    let ask = async |by: &Server| {
        let body = json!({"spec": {"namespace": "a"}}).to_string();
        let answer = by.send(Method::POST, review, &[], body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["status"].clone()
    };
    let rules = json!([{"apiGroups": ["authorization.svc.io"], "resources": ["selfsubjectrulesreviews"], "verbs": ["create"]}]);
    let rbac = "/apis/rbac.authorization.svc.io/v1";
    make(
        &server,
        &format!("{rbac}/clusterroles"),
        json!({"metadata": {"name": "asks"}, "rules": rules}),
    )
    .await;
    let binding = json!({
        "metadata": {"name": "asks"}, "roleRef": {"kind": "ClusterRole", "name": "asks"},
        "subjects": [{"kind": "User", "name": "joe"}, {"kind": "Group", "name": "system:nodes"}]
    });
    make(&server, &format!("{rbac}/clusterrolebindings"), binding).await;
    let status = ask(&node).await;
    assert_eq!(status["incomplete"], true);
    assert_eq!(status["evaluationError"], "node authorizer does not support user rule resolution");
    assert_eq!(ask(&server.by(Some(User::new("joe", [])))).await["incomplete"], false);
}
