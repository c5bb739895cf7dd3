//! kube-rs: its watcher and reflector, with a list and a watch or with a streamed list, direct or
//! through a load balancer.

use std::path::Path;

use tokio::process::Command;

use super::writers::SELECTOR;
use super::{Informer, Writers, check, disturb};
use crate::load::make_namespace;
use crate::support::{Balancer, Cluster, skip};

/// Where `.ci/tools` puts the program, below the workspace.
const PLACE: &str = "target/tools/kube-informer";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reflectors_of_kube_rs_hold_what_is_there_whatever_happens_to_the_leader() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
    if !program.exists() {
        return skip(&format!("no {PLACE}; run .ci/tools"));
    }
    let mut cluster = Cluster::start(3, &["--naming", "kubernetes"]);
    make_namespace(&mut cluster.client(1), "load").await;
    let balancer = Balancer::start(&cluster, &[1, 2, 3]).await;
    let node = cluster.address(1);
    let start = |how: &str, address: &str, selector: &str| {
        let mut command = Command::new(&program);
        command.arg(cluster.root().join("admin.kubeconfig")).args([address, "load", how]);
        command.args(Some(selector).filter(|selector| !selector.is_empty()));
        Informer::start(&format!("kube-rs ({how} {address} {selector})"), selector, command)
    };
    let mut informers = Vec::new();
    for how in ["list", "stream"] {
        informers.push(start(how, &node, ""));
        informers.push(start(how, balancer.address(), ""));
        informers.push(start(how, balancer.address(), SELECTOR));
    }
    for informer in &mut informers {
        informer.listed(1).await;
    }
    let writers = Writers::start(&cluster, "load");
    disturb(&mut cluster).await;
    let written = writers.finish().await;
    check(&mut cluster, informers, &written).await;
}
