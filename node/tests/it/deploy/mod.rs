//! The image and `deploy/compose.yaml`, where a Docker engine is at hand: three voters and an API
//! node in containers, what they outlive, and that nothing acknowledged is lost.
//!
//! `deploy/image --profile dev` compiles the image's binary, ahead of the tests or in them. It is
//! static as in a release but not optimized; that takes half a minute where the tests have compiled
//! the rest, and minutes where its dependencies are not there.

mod api_node;
mod fault;
mod image;
mod random;
mod voters;

use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use crate::load::{Load, collection, make_namespace};
use crate::support::{API_NODE, Client, Compose, Disks, VOTERS, eventually};
use fault::Fault;

/// All nodes.
const NODES: [u64; 4] = [VOTERS[0], VOTERS[1], VOTERS[2], API_NODE];
/// How long each writer rests after a write: the machine does other things as well.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_outlive_faults_and_their_replacement() {
    let begin = Instant::now();
    let step = |what: &str| println!("{:6.1} s  {what}", begin.elapsed().as_secs_f64());
    let Some(compose) = Compose::find() else { return };
    let compose = with_disks(compose);
    compose.build_image();
    image::check(&compose);
    step("the image is built");
    compose.up().await;
    image::check_containers(&compose);
    step("three voters and the API node are healthy");

    voters::outlive_a_cut_network_and_a_stopped_one(&compose, step).await;
    api_node::faults_of_the_api_node_disturb_no_voter(&compose, step).await;
    replaced_one_after_the_other(&compose).await;
    step("all four were replaced, one after the other");
}

/// The same cluster, with a small disk for each node where that can be had.
fn with_disks(compose: Compose) -> Compose {
    match Disks::make(&NODES) {
        Ok(disks) => compose.on(disks),
        Err(reason) => {
            println!("no disk is slow or full: {reason}");
            compose
        }
    }
}

/// Replaces every container, while clients write at all nodes.
async fn replaced_one_after_the_other(compose: &Compose) {
    make_namespace(&mut compose.client(1), "replaced").await;
    let load = load(compose, &NODES, "replaced");
    for node in NODES {
        Fault::Replace.inflict(compose, node, async || load.goes_on(20).await).await;
        compose.ready(node).await;
        compose.healthy(node).await;
    }
    load.goes_on(20).await;
    let end = Instant::now();
    let written = load.finish().await;
    let outage = written.longest_outage(end - Duration::from_secs(600), end);
    println!(
        "replaced: {} writes acknowledged, {} unknown, at most {:.1} s without one",
        written.revisions.len(),
        written.unknown,
        outage.as_secs_f64()
    );
    assert_eq!(written.refused, []);
    for node in NODES {
        written.check_is_there(&mut compose.client(node), "replaced").await;
    }
}

fn load(compose: &Compose, nodes: &[u64], namespace: &str) -> Load {
    Load::with(|node| compose.client(node), nodes, namespace, PAUSE)
}

/// Waits until a ConfigMap `last` is written. Where an attempt has no answer, the next may find it
/// written.
async fn write_works(client: &mut Client, namespace: &str) {
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "last" }, "data": { "generation": "0" },
    });
    eventually("a write", async || {
        let answer = client.send(Method::POST, &collection(namespace), Some(&body)).await.ok()?;
        [201, 409].contains(&answer.status).then_some(())
    })
    .await;
}

/// Checks that a node that is cut off says what it has, when that is what it is asked for, but
/// neither reads for sure, nor writes, nor calls itself ready. Gives the status of the write.
async fn check_lonely(compose: &Compose, node: u64, namespace: &str) -> u16 {
    let mut lonely = compose.client(node);
    let last = format!("{}/last", collection(namespace));
    let whole = format!("/api/v1/namespaces/{namespace}");
    let any = format!("{whole}?resourceVersion=0");
    eventually("the node that is cut off answers from what it has", async || {
        (lonely.send(Method::GET, &any, None).await.ok()?.status == 200).then_some(())
    })
    .await;
    lonely.get(&format!("{last}?resourceVersion=0")).await.expect(404);
    for path in [&last, &whole] {
        let read = lonely.get(path).await.status;
        assert!([503, 504].contains(&read), "a consistent read at node {node}, cut off: {read}");
    }
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "lonely" } });
    let write = lonely.post(&collection(namespace), &body).await.status;
    assert!([503, 504].contains(&write), "a write at node {node}, cut off: {write}");
    assert_eq!(lonely.get("/readyz").await.status, 500);
    write
}
