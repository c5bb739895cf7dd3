//! Voters: the leader cut off the network, and another node stopped, while clients write.

use super::{Fault, check_lonely, load, write_works};
use crate::load::{Written, collection, make_namespace};
use crate::support::{Compose, VOTERS};

/// Does both, and checks that every node has what was acknowledged meanwhile.
pub(super) async fn outlive_a_cut_network_and_a_stopped_one(
    compose: &Compose,
    step: impl Fn(&str),
) {
    let cut = compose.leader(1).await;
    let written_cut = cut_off_and_back(compose, cut).await;
    step("the old leader was cut off and is back");
    let stopped = compose.leader(cut).await;
    let stopped = if stopped == cut { cut % 3 + 1 } else { stopped };
    let written_stopped = stop_and_start(compose, stopped).await;
    step("another node was stopped and is back");
    for node in super::NODES {
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
    let last = format!("{}/last", collection("cut"));
    let mut write = 0;
    Fault::CutOff
        .inflict(compose, node, async || {
            write_works(&mut client, "cut").await;
            write = check_lonely(compose, node, "cut").await;
            println!("cut off, node {node} answered a write with {write}");
            client.get(&last).await.expect(200);
        })
        .await;
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
    let work = async || write_works(&mut client, "stopped").await;
    Fault::Stop.inflict(compose, node, work).await;
    compose.ready(node).await;
    compose.client(node).get(&format!("{}/last", collection("stopped"))).await.expect(200);
    load.finish().await
}

fn others(node: u64) -> Vec<u64> {
    VOTERS.into_iter().filter(|other| *other != node).collect()
}
