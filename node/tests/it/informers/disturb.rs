//! Faults of a cluster while informers follow it.

use crate::support::{Cluster, eventually, quorate};

/// How often each thing happens.
const TIMES: usize = 3;

/// The leader dies and comes back, several times; then the leadership goes round; then every node
/// is restarted in turn.
pub(super) async fn disturb(cluster: &mut Cluster) {
    for _ in 0..TIMES {
        let leader = cluster.leader(1).await;
        cluster.kill(leader);
        new_leader(cluster, leader).await;
        start_again(cluster, leader).await;
    }
    for _ in 0..TIMES {
        let before = cluster.leader(1).await;
        // Refused while the successor is behind, and by a node that has lost the leadership by
        // itself meanwhile.
        eventually("the leadership moves", async || {
            let leader = cluster.leader(1).await;
            let next = (leader % 3 + 1).to_string();
            let mut transfer = quorate(&["leader", "transfer", "--to", &next, "--data-dir"]);
            transfer.arg(cluster.node(leader)).output().unwrap();
            (cluster.leader(1).await != before).then_some(())
        })
        .await;
    }
    for node in 1..=3 {
        cluster.stop(node);
        start_again(cluster, node).await;
    }
}

/// Waits until the others have a leader of their own.
async fn new_leader(cluster: &Cluster, dead: u64) {
    let survivor = cluster.node(dead % 3 + 1);
    eventually("another leader", async || {
        let leader = cluster.status(&survivor)?["leader"].as_u64()?;
        (leader != dead).then_some(())
    })
    .await;
}

async fn start_again(cluster: &mut Cluster, node: u64) {
    let folder = cluster.node(node);
    cluster.serve(&folder);
    cluster.ready(node).await;
}
