//! An operator made of kube-rs, with a definition that its types derive, finalizers and server-side
//! apply, whose cluster loses its leader again and again.

use std::path::Path;
use std::process::Stdio;

use http::Method;
use serde_json::json;
use tokio::process::{Child, Command};

use super::operators::{Craft, kept_through_changes_of_leader};
use crate::support::{Balancer, Cluster, eventually, skip};

/// Where `.ci/tools` puts the program, below the workspace.
const PLACE: &str = "target/tools/kube-operator";
/// The Looms of the namespace `default`.
const LOOMS: &str = "/apis/craft.example.com/v1/namespaces/default/looms";
/// What the operator is given.
const CRAFT: Craft =
    Craft { collection: LOOMS, kind: "Loom", text: ("pattern", "twill"), number: "threads" };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_of_kube_rs_brings_its_objects_to_what_is_wanted() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
    if !program.exists() {
        return skip(&format!("no {PLACE}; run .ci/tools"));
    }
    let mut cluster = Cluster::start(3, &["--naming", "kubernetes"]);
    let balancer = Balancer::start(&cluster, &[1, 2, 3]).await;
    let _operator = start(&program, &cluster, balancer.address());
    refuses_what_breaks_a_rule(&cluster).await;
    kept_through_changes_of_leader(&mut cluster, &CRAFT).await;
}

/// Waits until the operator's definition is served, whose rule then holds.
async fn refuses_what_breaks_a_rule(cluster: &Cluster) {
    let mut client = cluster.client(1);
    let loom = json!({
        "apiVersion": "craft.example.com/v1",
        "kind": "Loom",
        "metadata": { "name": "wide" },
        "spec": { "threads": 500 },
    });
    let answer = eventually("Looms are served", async || {
        let answer = client.send(Method::POST, LOOMS, Some(&loom)).await.ok()?;
        (answer.status != 404).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    let cause = &answer.body["details"]["causes"][0];
    assert_eq!(cause["field"], "spec");
    assert_eq!(cause["message"], "Invalid value: a plain loom has 100 threads at most");
}

/// Starts the operator; it ends with the test, and its log lies beside the nodes'.
fn start(program: &Path, cluster: &Cluster, address: &str) -> Child {
    let folder = cluster.root().join("operator");
    std::fs::create_dir(&folder).unwrap();
    let log = std::fs::File::create(folder.join("node.log")).unwrap();
    Command::new(program)
        .arg(cluster.root().join("admin.kubeconfig"))
        .args([address, "default"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
