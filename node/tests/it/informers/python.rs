//! The Python client: its list and its Watch, as its own informers use them.

use std::path::Path;

use http::Method;
use serde_json::json;
use tokio::process::Command;

use super::writers::SELECTOR;
use super::{Informer, Writers, check, disturb};
use crate::load::{Load, collection, make_namespace};
use crate::support::{Balancer, Cluster, eventually, skip};

/// Where `.ci/tools` puts Python with the client, below the workspace.
const PLACE: &str = "target/tools/python/bin/python";
/// Objects that are there when an informer lists; several of its pages.
const BEFORE: usize = 12;
/// See there.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/informers/informer.py");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informers_in_python_hold_what_is_there_whatever_happens_to_the_leader() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start(3, &["--naming", "kubernetes"]);
    make_namespace(&mut cluster.client(1), "load").await;
    let balancer = Balancer::start(&cluster, &[1, 2, 3]).await;
    let mut informers = vec![
        start(&cluster, &cluster.address(1), "", ""),
        start(&cluster, balancer.address(), "", ""),
        start(&cluster, balancer.address(), "", SELECTOR),
    ];
    for informer in &mut informers {
        informer.listed(1).await;
    }
    let writers = Writers::start(&cluster, "load");
    disturb(&mut cluster).await;
    let written = writers.finish().await;
    check(&mut cluster, informers, &written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_whose_version_is_gone_lists_and_goes_on() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start(1, &["--history-duration", "1s"]);
    let mut client = cluster.client(1);
    let begin = make_namespace(&mut client, "load").await;
    for number in 0..BEFORE {
        let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("before-{number}") } });
        client.post(&collection("load"), &body).await.expect(201);
    }
    // In a namespace of its own: the informer reads small pages of one version, which must end
    // before that is gone as well.
    make_namespace(&mut client, "elsewhere").await;
    let elsewhere = Load::start(&cluster, &[1], "elsewhere");
    let exact = format!(
        "{}?limit=1&resourceVersionMatch=Exact&resourceVersion={begin}",
        collection("load")
    );
    eventually("the first version is gone", async || {
        let answer = client.send(Method::GET, &exact, None).await.ok()?;
        (answer.status == 410).then_some(())
    })
    .await;
    let mut informer = start(&cluster, &cluster.address(1), &begin.to_string(), "");
    informer.listed(1).await;
    let load = Load::start(&cluster, &[1], "load");
    load.goes_on(100).await;
    load.finish().await;
    elsewhere.finish().await;
    informer.agrees(&mut client, &collection("load")).await;
    informer.finish().await.check_order("it", false);
}

fn is_there() -> bool {
    let there = python().exists();
    if !there {
        skip(&format!("no {PLACE}; run .ci/tools"));
    }
    there
}

fn python() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE)
}

fn start(cluster: &Cluster, address: &str, version: &str, selector: &str) -> Informer {
    let mut command = Command::new(python());
    command
        .arg(PROGRAM)
        .arg(cluster.root().join("admin.kubeconfig"))
        .args([address, "load", version, selector]);
    Informer::start(&format!("Python ({address} {selector})"), selector, command)
}
