//! Members that are far from each other: whatever a heartbeat has to wait for is there for the next
//! one, so reads are served while one way there and back fits between two heartbeats.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::time::Duration;

use bytes::Bytes;
use quorate_raft::replica::Timing;
use quorate_store::{Operation, Txn};

use crate::cluster::far::Distance;
use crate::cluster::{Cluster, Tuning, within};

/// After this nothing is under way any more: answers to entries would confirm the leader as those
/// to heartbeats do.
const QUIET: Duration = Duration::from_secs(1);

/// Members that beat this often, at this distance, serve writes and reads.
async fn check(heartbeat: Duration, distance: Distance) {
    assert!(distance.both_ways < heartbeat, "no heartbeat could be answered in time");
    let timing = Timing { heartbeat, election_min: heartbeat * 3, election_max: heartbeat * 6 };
    let cluster =
        Cluster::tuned(3, Tuning { timing, distance: Some(distance), ..Tuning::default() }).await;
    let leader = cluster.leader().await;
    let put =
        Operation::Put { key: Bytes::from_static(b"key"), value: Bytes::from_static(b"value") };
    let store = cluster.store(leader);
    within(
        "a write",
        store.txn(Txn { conditions: vec![], operations: vec![put], ..Txn::default() }),
    )
    .await
    .unwrap();
    tokio::time::sleep(QUIET).await;
    for node in cluster.nodes() {
        within("a read", cluster.store(node).read_index()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_served_when_a_stream_and_a_heartbeat_take_longer_than_a_heartbeat() {
    let distance = Distance { both_ways: Duration::from_millis(230), ..Distance::default() };
    check(Duration::from_millis(400), distance).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_served_when_to_connect_takes_longer_than_a_heartbeat_or_a_vote() {
    let distance = Distance { connecting: Duration::from_millis(400), ..Distance::default() };
    check(Duration::from_millis(100), distance).await;
}
