//! The store's own suite on replicas: alone, on the leader of three, through a follower, through a
//! learner.

use quorate_store::conformance::{self, SIZE_LIMIT_MAX_BYTES};
use quorate_store::{Limits, NodeId, Retention};

use crate::cluster::{Cluster, Tuning, eventually, within};

async fn check(cluster: &Cluster, node: NodeId) {
    conformance::run_all(async || cluster.store(node)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_replica() {
    check(&Cluster::start(1).await, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_of_three() {
    let cluster = Cluster::start(3).await;
    check(&cluster, cluster.leader().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower() {
    let cluster = Cluster::start(3).await;
    check(&cluster, cluster.follower().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner() {
    let mut cluster = Cluster::start(1).await;
    let learner = cluster.join(1).await;
    check(&cluster, learner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store() {
    let limits = Limits { store_bytes: SIZE_LIMIT_MAX_BYTES / 4, ..Limits::default() };
    let cluster = Cluster::tuned(1, Tuning { limits, ..Tuning::default() }).await;
    conformance::size_limit(cluster.store(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_forgets() {
    let retention = Retention { time_ms: u64::MAX, bytes: 10_000 };
    let cluster = Cluster::tuned(1, Tuning { retention, ..Tuning::default() }).await;
    conformance::compaction(cluster.store(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past() {
    let tuning = Tuning { archive: true, ..Tuning::default() };
    let mut cluster = Cluster::tuned(1, tuning).await;
    conformance::past(cluster.store(1)).await;
    archived(&cluster, 1).await;
    conformance::past(cluster.store(1)).await;
    cluster.halt(1).await;
    cluster.open(1).await;
    within("it recovers", cluster.replica(1).recovered()).await;
    conformance::past(cluster.store(1)).await;
    let status = cluster.replica(1).archive().unwrap();
    assert_eq!((status.oldest.get(), status.failures, &status.gaps[..]), (0, 0, &[][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_of_a_follower() {
    let cluster = Cluster::tuned(3, Tuning { archive: true, ..Tuning::default() }).await;
    let follower = cluster.follower().await;
    conformance::past(cluster.store(follower)).await;
    archived(&cluster, follower).await;
    conformance::past(cluster.store(follower)).await;
}

/// Waits until something is in a member's archive.
async fn archived(cluster: &Cluster, node: NodeId) {
    eventually("the archive follows", async || {
        let status = cluster.replica(node).archive().expect("it keeps one");
        (status.lag == 0 && status.bytes > 0).then_some(())
    })
    .await;
}
