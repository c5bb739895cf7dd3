//! Overload without priority and fairness: with few places for requests, kubectl is answered 429 and retries; another user is not
//! affected.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use http::Method;
use serde_json::json;

use crate::load::{collection, make_namespace};
use crate::support::{Client, Cluster, Kubectl, eventually};

/// A list of these is more than a connection buffers while its client does not read.
const OBJECTS: usize = 24;
const OBJECT_BYTES: usize = 900_000;
/// Each class of requests has places of its own.
const PLAIN: &str = "--enable-priority-and-fairness=false";

/// A token of an account of this name that may do everything and is no operator.
pub(crate) async fn token(admin: &mut Client, namespace: &str, name: &str) -> String {
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    admin.post(&accounts, &json!({ "metadata": { "name": name } })).await.expect(201);
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.svc.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
    });
    admin
        .post("/apis/rbac.authorization.svc.io/v1/clusterrolebindings", &binding)
        .await
        .expect(201);
    let answer = admin.post(&format!("{accounts}/{name}/token"), &json!({})).await.expect(201);
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_comes_back_when_there_is_a_place() {
    let cluster = Cluster::start(1, &["--max-requests-inflight=2", PLAIN]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    let mut admin = cluster.client(1);
    make_namespace(&mut admin, "load").await;
    for number in 0..OBJECTS {
        let data = json!({ "fill": "f".repeat(OBJECT_BYTES) });
        let body = json!({ "metadata": { "name": format!("m{number}") }, "data": data });
        admin.post(&collection("load"), &body).await.expect(201);
    }
    let greedy = token(&mut admin, "load", "greedy").await;
    let calm = token(&mut admin, "load", "calm").await;
    // A client that does not read keeps the one place that it may have.
    let mut reader = bearer(&cluster, &greedy);
    let unread = reader.start(Method::GET, &collection("load"), None).await.unwrap();
    assert_eq!(unread.status(), 200);

    let arguments =
        ["get", "configmap", "m0", "-n", "load", "-o", "name", "-v=6", "--token", &greedy];
    let mut waiting =
        kubectl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(waiting.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("429 Too Many Requests") {
        assert!(log.read_line(&mut said).unwrap() > 0, "kubectl was never refused:\n{said}");
    }
    bearer(&cluster, &calm).get(&format!("{}/m0", collection("load"))).await.expect(200);
    drop((unread, reader));
    log.read_to_string(&mut said).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "configmap/m0\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_writes_when_there_is_a_place() {
    let cluster = Cluster::start(1, &["--max-mutating-requests-inflight=2", PLAIN]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    let mut admin = cluster.client(1);
    make_namespace(&mut admin, "load").await;
    let greedy = token(&mut admin, "load", "greedy").await;
    let calm = token(&mut admin, "load", "calm").await;
    let maps = collection("load");
    // A client that does not finish a request keeps the one place that it may have.
    let mut impatient = bearer(&cluster, &greedy);
    let unfinished = impatient.begin_post(&maps).await;
    let tried = format!("{maps}?dryRun=All");
    let body = json!({ "metadata": { "name": "made" } });
    let refused = eventually("no place to write", async || {
        Some(impatient.post(&tried, &body).await).filter(|answer| answer.status == 429)
    });
    let refused = refused.await.body;
    assert_eq!(refused["reason"], "TooManyRequests", "{refused:#}");
    assert_eq!(refused["details"]["retryAfterSeconds"], 1, "{refused:#}");
    bearer(&cluster, &calm).post(&tried, &body).await.expect(201);
    bearer(&cluster, &greedy).get(&maps).await.expect(200);

    let arguments =
        ["create", "configmap", "made", "-n", "load", "-o", "name", "-v=6", "--token", &greedy];
    let mut waiting =
        kubectl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(waiting.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("429 Too Many Requests") {
        assert!(log.read_line(&mut said).unwrap() > 0, "kubectl was never refused:\n{said}");
    }
    drop(unfinished);
    log.read_to_string(&mut said).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "configmap/made\n");
}

fn bearer(cluster: &Cluster, token: &str) -> Client {
    Client::bearer(&cluster.address(1), &cluster.root().join("pki"), token)
}
