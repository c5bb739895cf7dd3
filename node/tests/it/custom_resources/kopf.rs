//! An operator made of kopf, whose cluster loses its leader again and again.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::operators::{Craft, kept_through_changes_of_leader};
use super::{FOLDER, WORKSHOPS, define};
use crate::support::{Balancer, Cluster, Kubectl, skip};

/// Where `.ci/tools` puts Python with kopf, below the workspace.
const PLACE: &str = "target/tools/python/bin/kopf";
/// What the operator is given.
const CRAFT: Craft = Craft {
    collection: WORKSHOPS,
    kind: "Workshop",
    text: ("trade", "pottery"),
    number: "benches",
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_brings_every_object_to_what_is_wanted_through_changes_of_leader() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
    if !program.exists() {
        return skip(&format!("no {PLACE}; run .ci/tools"));
    }
    let mut cluster = Cluster::start(3, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    define(&kubectl);
    let balancer = Balancer::start(&cluster, &[1, 2, 3]).await;
    let _operator = start(&program, &cluster, balancer.address());
    kept_through_changes_of_leader(&mut cluster, &CRAFT).await;
}

/// Starts the operator; it ends with the test, and its log lies beside the nodes'.
fn start(program: &Path, cluster: &Cluster, address: &str) -> Child {
    let folder = cluster.root().join("operator");
    std::fs::create_dir(&folder).unwrap();
    let kubeconfig = std::fs::read_to_string(cluster.root().join("admin.kubeconfig")).unwrap();
    let config = folder.join("kubeconfig");
    std::fs::write(&config, kubeconfig.replace(&cluster.address(1), address)).unwrap();
    let log = std::fs::File::create(folder.join("node.log")).unwrap();
    Command::new(program)
        .args(["run", "--standalone", "--namespace", "default"])
        .arg(format!("{FOLDER}/operator_of_workshops.py"))
        .env("KUBECONFIG", config)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
