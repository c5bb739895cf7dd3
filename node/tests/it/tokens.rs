//! Service account tokens in a cluster of real processes: every node accepts what any has issued,
//! keys change while tokens live, and nothing of it gets into a log. And the official client with
//! them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Cluster, Kubectl, eventually};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const STATIC: &str = "static-0a1b2c3d4e5f";
/// How long after a revocation every node refuses what was revoked.
const REVOCATION: Duration = Duration::from_secs(1);

/// The status that a bearer of this token gets from a node.
async fn status(cluster: &Cluster, node: u64, token: &str) -> u16 {
    Client::bearer(&cluster.address(node), &cluster.root().join("pki"), token)
        .get("/api")
        .await
        .status
}

async fn issue(cluster: &Cluster, node: u64) -> String {
    let answer =
        cluster.client(node).post(&format!("{ACCOUNTS}/robot/token"), &json!({})).await.expect(201);
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

fn keys(cluster: &Cluster, arguments: &[&str]) -> Vec<Value> {
    let text =
        Cluster::run(&[&["signing-key"], arguments, &["-o", "json"]].concat(), &cluster.node(1));
    serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
}

/// Waits until every node refuses the bearer of a token that was revoked just now, which must be
/// soon.
async fn ends(cluster: &Cluster, nodes: u64, token: &str, what: &str) {
    let revoked = Instant::now();
    for node in 1..=nodes {
        let refused = async || {
            // The answer may take long on a busy machine; what counts is when the question was
            // asked.
            let asked = revoked.elapsed();
            let status = status(cluster, node, token).await;
            assert!(
                status != 200 || asked < REVOCATION,
                "node {node} accepts a token of {what}, {asked:?} afterwards"
            );
            (status == 401).then_some(())
        };
        eventually(&format!("node {node} refuses tokens of {what}"), refused).await;
    }
}

/// What was logged by all nodes.
fn logs(cluster: &Cluster, nodes: u64) -> String {
    (1..=nodes)
        .map(|node| std::fs::read_to_string(cluster.node(node).join("node.log")).unwrap())
        .collect()
}

/// The key that signed until now: a new one signs, and every node accepts both.
async fn rotate(cluster: &Cluster) -> Value {
    let before = keys(cluster, &["list"]);
    assert_eq!((before.len(), &before[0]["signs"]), (1, &json!(true)));
    assert_eq!(keys(cluster, &["rotate"]).len(), 2);
    let published = eventually("every node publishes both keys", async || {
        let keys = cluster.client(3).get("/openid/v1/jwks").await.body["keys"].clone();
        (keys.as_array()?.len() == 2).then_some(keys)
    })
    .await;
    assert_eq!(published[0]["kid"], before[0]["id"]);
    eventually("the new key signs", async || {
        let keys = keys(cluster, &["list"]);
        (keys[1]["signs"] == true).then_some(())
    })
    .await;
    before[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_hold_on_every_node_while_keys_change_and_never_reach_a_log() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.csv");
    std::fs::write(&file, format!("{STATIC},ann,1,dev\n")).unwrap();
    let file = format!("--token-auth-file={}", file.display());
    let cluster = Cluster::start_with(3, &[&file, "--anonymous-auth"], folder, "debug");
    let mut admin = cluster.client(1);
    admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await.expect(201);
    let hidden = "aHVzaC1odXNo";
    let secret = json!({"metadata": {"name": "s"}, "data": {"k": hidden}, "stringData": {"l": "hush-hush-plain"}});
    admin.post("/api/v1/namespaces/default/secrets", &secret).await.expect(201);

    let old = issue(&cluster, 1).await;
    for node in 1..=3 {
        assert_eq!(
            status(&cluster, node, &old).await,
            200,
            "node {node} accepts at once what another has issued"
        );
        assert_eq!(status(&cluster, node, STATIC).await, 200);
        assert_eq!(status(&cluster, node, "wrong-token-777").await, 401);
    }
    let review = json!({"spec": {"token": old}});
    let reviewed =
        admin.post("/apis/authentication.svc.io/v1/tokenreviews", &review).await.expect(201);
    assert_eq!(reviewed.body["status"]["authenticated"], true);

    let before = rotate(&cluster).await;
    let new = issue(&cluster, 2).await;
    for node in 1..=3 {
        assert_eq!(
            (status(&cluster, node, &old).await, status(&cluster, node, &new).await),
            (200, 200)
        );
    }
    let id = before["id"].as_str().unwrap();
    Cluster::run(&["signing-key", "remove", id], &cluster.node(1));
    ends(&cluster, 3, &old, "a removed key").await;
    for node in 1..=3 {
        assert_eq!(status(&cluster, node, &new).await, 200);
    }
    admin.send(http::Method::DELETE, &format!("{ACCOUNTS}/robot"), None).await.unwrap().expect(200);
    ends(&cluster, 3, &new, "a deleted account").await;

    let logged = logs(&cluster, 3);
    assert!(
        logged.contains("the keys of service account tokens are known") && logged.contains("DEBUG")
    );
    let signatures = [&old, &new].map(|token| token.rsplit('.').next().unwrap().to_owned());
    for private in [
        old.as_str(),
        &new,
        &signatures[0],
        &signatures[1],
        STATIC,
        "wrong-token-777",
        hidden,
        "hush-hush",
    ] {
        assert!(!logged.contains(private), "a log holds {private}");
    }
    assert!(!logged.contains("PRIVATE KEY"));
}

#[test]
fn the_official_client_with_tokens() {
    for naming in ["svc", "kubernetes"] {
        drive(naming);
    }
}

fn drive(naming: &str) {
    let cluster = Cluster::start(1, &["--naming", naming]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    let who = kubectl.run(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
    assert_eq!(who, "admin");
    kubectl.run(&["create", "serviceaccount", "robot"]);
    let token = kubectl.run(&["create", "token", "robot", "--duration=20m"]);
    let token = token.trim();
    let path = "jsonpath={.status.userInfo.username}";
    let who = kubectl.run(&["auth", "whoami", "--token", token, "-o", path]);
    assert_eq!(who, "system:serviceaccount:default:robot");
    let refused = kubectl.fail(&["get", "secrets", "--token", token]);
    assert!(
        refused.contains("system:serviceaccount:default:robot") && refused.contains("forbidden"),
        "{refused}"
    );
    kubectl.run(&["create", "secret", "generic", "anchor"]);
    let bound = ["--bound-object-kind=Secret", "--bound-object-name=anchor"];
    let bound = kubectl.run(&["create", "token", "robot", bound[0], bound[1]]);
    let bound = bound.trim();
    kubectl.run(&["auth", "whoami", "--token", bound]);
    kubectl.run(&["delete", "secret", "anchor"]);
    let ended = kubectl.fail(&["auth", "whoami", "--token", bound]);
    assert!(ended.contains("Unauthorized"), "{ended}");

    // A program in a pod has a token, the authority's certificate and an address, nothing else.
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://{}", cluster.address(1)), "certificate-authority": cluster.root().join("pki/ca.crt")}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    });
    let file = cluster.spare("pod.kubeconfig");
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    let inside = kubectl.with_kubeconfig(&file);
    assert_eq!(inside.run(&["auth", "whoami", "-o", path]), "system:serviceaccount:default:robot");
    kubectl.run(&["delete", "serviceaccount", "robot"]);
    let ended = inside.fail(&["auth", "whoami"]);
    assert!(ended.contains("Unauthorized"), "{ended}");
}
