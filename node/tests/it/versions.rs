//! Switching features, API versions and health checks of a real node by its options.

use std::path::Path;

use serde_json::json;

use crate::support::{Client, Cluster, eventually};

const CLASSES: &str = "/apis/scheduling.svc.io/v1/priorityclasses";
/// The checks of `/readyz` in the profile `svc`.
const CHECKS: [&str; 19] = [
    "ping",
    "log",
    "etcd",
    "poststarthook/start-kube-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "shutdown",
];

/// Restarts the only node with these arguments.
async fn restart(cluster: &mut Cluster, arguments: &[&str]) -> Client {
    cluster.stop(1);
    let folder = cluster.node(1);
    cluster.serve_with(&folder, arguments);
    cluster.ready(1).await;
    cluster.client(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_is_switched_off_comes_back_with_its_objects() {
    let mut cluster = Cluster::start(1, &[]);
    let mut client = cluster.client(1);
    client.post(CLASSES, &json!({"metadata": {"name": "high"}, "value": 7})).await.expect(201);

    let off =
        ["--runtime-config=scheduling.svc.io/v1=false", "--runtime-config=batch/v1/jobs=false"];
    let mut client = restart(&mut cluster, &off).await;
    client.get(&format!("{CLASSES}/high")).await.expect(404);
    client.get("/apis/scheduling.svc.io").await.expect(404);
    let groups = client.get("/apis").await.expect(200).body;
    assert!(!groups.to_string().contains("scheduling.svc.io"), "{groups}");
    let documents = client.get("/openapi/v3").await.expect(200).body;
    assert!(documents["paths"]["apis/scheduling.svc.io/v1"].is_null(), "{documents}");
    let batch = client.get("/apis/batch/v1").await.expect(200).body.to_string();
    assert!(batch.contains("\"cronjobs\"") && !batch.contains("\"jobs\""), "{batch}");
    client.get("/apis/batch/v1/namespaces/default/jobs").await.expect(404);

    let mut client = restart(&mut cluster, &[]).await;
    let class = client.get(&format!("{CLASSES}/high")).await.expect(200).body;
    assert_eq!(class["value"], 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_release_is_emulated() {
    let mut cluster = Cluster::start(1, &[]);
    let mut client = restart(&mut cluster, &["--emulated-version=1.33"]).await;
    let version = client.get("/version").await.expect(200).body;
    assert_eq!((&version["minor"], &version["emulationMinor"]), (&json!("35"), &json!("33")));
    // Introduced in 1.34.
    client.get("/apis/resource.svc.io/v1").await.expect(404);
    client.get("/apis/batch/v1").await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deprecated_is_said_once_and_can_be_silenced() {
    let mut cluster = Cluster::start(1, &[]);
    let log = |folder: &Path| std::fs::read_to_string(folder.join("node.log")).unwrap();
    let folder = cluster.node(1);
    let count = |text: &str| log(&folder).matches(text).count();
    let old = "Option --size-limit has been deprecated, use --store-size-limit instead";
    let gate = "Feature gate APIListChunking=true has no effect any more";
    let (options, deprecated) = (["--size-limit=1GiB"], (count(old), count(gate)));
    assert_eq!(deprecated, (0, 0));
    restart(&mut cluster, &[&options[..], &["--feature-gates=APIListChunking=true"]].concat())
        .await;
    assert_eq!((count(old), count(gate)), (1, 1));
    restart(&mut cluster, &[&options[..], &["--no-deprecation-warnings"]].concat()).await;
    assert_eq!((count(old), count(gate)), (1, 1));
    let status = cluster.status(&folder).unwrap();
    assert!(status.to_string().contains("1073741824"), "{status}");
}

/// The names in a report, in its order; every check passes.
async fn checks(client: &mut Client, path: &str) -> Vec<String> {
    let report = client.get(&format!("{path}?verbose")).await.expect(200).body;
    let report = report.as_str().unwrap();
    let line = |line: &str| line.strip_prefix("[+]")?.strip_suffix(" ok").map(str::to_owned);
    report.lines().filter_map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_health_check_is_answered() {
    let cluster = Cluster::start(1, &[]);
    let mut client = cluster.client(1);
    assert_eq!(checks(&mut client, "/readyz").await, CHECKS);
    assert_eq!(checks(&mut client, "/livez").await, CHECKS[..18]);
    for check in CHECKS {
        client.get(&format!("/readyz/{check}")).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_profile_has_the_checks_of_the_release() {
    let cluster = Cluster::start(1, &["--naming=kubernetes"]);
    let mut client = cluster.client(1);
    let names = checks(&mut client, "/readyz").await;
    assert_eq!(names.len(), 34, "{names:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/facts/health_checks.json");
    let Ok(facts) = std::fs::read_to_string(path) else { return };
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    for endpoint in ["livez", "readyz", "healthz"] {
        let names = checks(&mut client, &format!("/{endpoint}")).await;
        assert_eq!(facts["default_sequence"][endpoint], json!(names), "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_needs_the_quorum_and_liveness_does_not() {
    let mut cluster = Cluster::start(3, &[]);
    let mut client = cluster.client(1);
    cluster.kill(2);
    cluster.kill(3);
    eventually("the store's check fails", async || {
        let answer = client.get("/readyz/etcd").await;
        (answer.status == 500).then_some(())
    })
    .await;
    client.get("/livez").await.expect(200);
    client.get("/livez/etcd").await.expect(200);
}
