//! Connections between members that vanish without a word (kubernetes#48610 and its like): they are
//! found dead within seconds, and what waited on them goes on over new ones.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_store::{Error, Operation, Outcome, Store, Txn};

use crate::cluster::{Cluster, within};

/// How long writes and reads may stand still, on a busy machine: probing takes a second and a half.
const OUTAGE: Duration = Duration::from_secs(8);

async fn put(store: &dyn Store, number: usize) {
    let key = Bytes::from(format!("key/{number:05}"));
    let operations = vec![Operation::Put { key, value: Bytes::from_static(b"v") }];
    let txn = Txn { conditions: vec![], operations, ..Txn::default() };
    match within("a write", store.txn(txn)).await {
        Ok(Outcome::Committed { .. }) | Err(Error::Unknown(_)) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_find_out_and_connect_again() {
    let cluster = Cluster::start(3).await;
    for round in 0..2 {
        let leader = cluster.leader().await;
        for node in cluster.nodes() {
            put(&*cluster.store(node), round).await;
        }
        cluster.vanish(leader);
        let begin = Instant::now();
        for (number, node) in cluster.nodes().into_iter().enumerate() {
            put(&*cluster.store(node), 10 + number).await;
            within("a read", cluster.replica(node).read_index()).await.expect("it is answered");
        }
        let outage = begin.elapsed();
        println!("all members are connected again after {outage:?}");
        assert!(outage < OUTAGE, "it took {outage:?}");
        let last = cluster.replica(cluster.leader().await).read_index().await.unwrap();
        cluster.converge(last).await;
    }
}
