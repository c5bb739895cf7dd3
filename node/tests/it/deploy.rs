//! The image and `deploy/compose.yaml`, where a Docker engine is at hand: three nodes in
//! containers, the leader cut off the network, another node stopped, and nothing acknowledged lost.
//!
//! Half a minute when the image's binary is compiled: `deploy/image --profile dev` does that ahead
//! of the tests. It is static as in a release but not optimized, and needs about 20 s more for
//! itself and minutes when its dependencies are not there.

use std::time::Instant;

use http::Method;
use serde_json::json;

use crate::load::{Load, Written, collection, make_namespace};
use crate::support::{Client, Compose, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_outlive_a_cut_network_and_a_stopped_node() {
    let begin = Instant::now();
    let step = |what: &str| println!("{:6.1} s  {what}", begin.elapsed().as_secs_f64());
    let compose = match Compose::find() {
        Ok(compose) => compose,
        Err(reason) => return println!("skipped: {reason}"),
    };
    compose.build_image();
    step("the image is built");
    compose.up().await;
    step("three nodes are ready");
    compose.ready(4).await;
    step("the API node is ready");
    make_namespace(&mut compose.client(1), "load").await;

    let cut = compose.leader(1);
    let written_cut = cut_off_and_back(&compose, cut).await;
    step("the old leader was cut off and is back");

    let stopped = compose.leader(cut);
    let stopped = if stopped == cut { cut % 3 + 1 } else { stopped };
    let written_stopped = stop_and_start(&compose, stopped).await;
    step("another node was stopped and is back");

    for node in 1..=4 {
        for (namespace, written) in [("cut", &written_cut), ("stopped", &written_stopped)] {
            assert_eq!(written.refused, []);
            written.check_is_there(&mut compose.client(node), namespace).await;
        }
    }
    let acknowledged = written_cut.revisions.len() + written_stopped.revisions.len();
    step(&format!("all {acknowledged} acknowledged writes are on every node"));
}

/// Cuts a node off while clients write at the others, and checks that it gives no answers that may
/// be old.
async fn cut_off_and_back(compose: &Compose, node: u64) -> Written {
    let others = others(node);
    let mut client = compose.client(others[0]);
    make_namespace(&mut client, "cut").await;
    let load = load(compose, &others, "cut");
    compose.cut_off(node);
    write_works(&mut client, "cut").await;

    let mut lonely = compose.client(node);
    let last = format!("{}/last", collection("cut"));
    // It is there and says what it has, when that is what is asked for ...
    let namespace = "/api/v1/namespaces/cut?resourceVersion=0";
    eventually("the node that is cut off answers from what it has", async || {
        (lonely.send(Method::GET, namespace, None).await.ok()?.status == 200).then_some(())
    })
    .await;
    lonely.get(&format!("{last}?resourceVersion=0")).await.expect(404);
    // ... but neither reads for sure, nor writes, nor calls itself ready.
    let read = lonely.get(&last).await.status;
    assert!([503, 504].contains(&read), "a consistent read at the node that is cut off: {read}");
    let read = lonely.get(namespace.strip_suffix("?resourceVersion=0").unwrap()).await.status;
    assert!([503, 504].contains(&read), "a consistent read at the node that is cut off: {read}");
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "lonely" } });
    let write = lonely.post(&collection("cut"), &body).await.status;
    assert!([503, 504].contains(&write), "a write at the node that is cut off: {write}");
    assert_eq!(lonely.get("/readyz").await.status, 500);
    println!("cut off, node {node} answered a read with {read}, a write with {write}");

    client.get(&last).await.expect(200);
    compose.reconnect(node);
    compose.ready(node).await;
    // A new connection: the old one went through a network that the node has left.
    let mut back = compose.client(node);
    back.get(&last).await.expect(200);
    if write == 503 {
        // That answer says that nothing has happened, nor will.
        back.get(&format!("{}/lonely", collection("cut"))).await.expect(404);
    }
    load.finish().await
}

/// Stops a node while clients write at the others, and starts it again.
async fn stop_and_start(compose: &Compose, node: u64) -> Written {
    let others = others(node);
    let mut client = compose.client(others[0]);
    make_namespace(&mut client, "stopped").await;
    let load = load(compose, &others, "stopped");
    compose.stop(node);
    write_works(&mut client, "stopped").await;
    compose.start(node);
    compose.ready(node).await;
    compose.client(node).get(&format!("{}/last", collection("stopped"))).await.expect(200);
    load.finish().await
}

fn load(compose: &Compose, nodes: &[u64], namespace: &str) -> Load {
    Load::with(|node| compose.client(node), nodes, namespace)
}

fn others(node: u64) -> Vec<u64> {
    (1..=3).filter(|other| *other != node).collect()
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
