//! Disks whose syncs take long (etcd#15247 and what operators of etcd know besides): no
//! election comes of one slow sync, a leader whose disk stands still is relieved, and it happens
//! once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_store::{Error, NodeId, Operation, Outcome, Status, Store, Txn};
use tokio::time::timeout;

use crate::cluster::{Cluster, eventually, within};

/// Longer than any follower waits for a heartbeat.
const SLOW: Duration = Duration::from_millis(1500);
/// Longer than the test.
const STANDSTILL: Duration = Duration::from_secs(120);
/// Longest time that a write may take while one disk is slow, on a busy machine.
const LONGEST: Duration = Duration::from_secs(4);

async fn put(store: &dyn Store, number: usize) -> Duration {
    let begin = Instant::now();
    let key = Bytes::from(format!("key/{number:05}"));
    let operations = vec![Operation::Put { key, value: Bytes::from(vec![7; 2000]) }];
    let txn = Txn { conditions: vec![], operations, ..Txn::default() };
    match within("a write", store.txn(txn)).await {
        Ok(Outcome::Committed { .. }) => begin.elapsed(),
        other => panic!("{other:?}"),
    }
}

/// The same while the leader is relieved: of a write that the old one was asked for the outcome may be
/// unknown.
async fn put_while_relieved(store: &dyn Store) -> Duration {
    let begin = Instant::now();
    let operations = vec![Operation::Delete { key: Bytes::from("none") }];
    let txn = Txn { conditions: vec![], operations, ..Txn::default() };
    match within("a write", store.txn(txn)).await {
        Ok(Outcome::Committed { .. }) | Err(Error::Unknown(_)) => begin.elapsed(),
        other => panic!("{other:?}"),
    }
}

fn terms(cluster: &Cluster) -> Vec<(u64, Option<NodeId>)> {
    let status = |node| cluster.replica(node).status();
    cluster.nodes().into_iter().map(|node| (status(node).term, status(node).leader)).collect()
}

/// Writes for that long; gives the number of writes and the longest that one took.
async fn write_for(store: &dyn Store, time: Duration) -> (usize, Duration) {
    let (begin, mut count, mut longest) = (Instant::now(), 0, Duration::ZERO);
    while begin.elapsed() < time {
        longest = longest.max(put(store, count).await);
        count += 1;
    }
    (count, longest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_with_a_slow_disk_delays_nobody() {
    let cluster = Cluster::start(3).await;
    let (leader, slow) = (cluster.leader().await, cluster.follower().await);
    let before = terms(&cluster);
    cluster.slow_down(slow, SLOW);
    let (count, longest) = write_for(&*cluster.store(leader), SLOW * 3).await;
    println!("{count} writes, the longest took {longest:?}");
    assert!(longest < SLOW, "a write took {longest:?}: it waited for the slow disk");
    assert_eq!(terms(&cluster), before, "there was an election");
    cluster.slow_down(slow, Duration::ZERO);
    let last = cluster.replica(leader).read_index().await.unwrap();
    cluster.converge(last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_disks_everywhere_make_writes_slow_and_elect_nobody() {
    let cluster = Cluster::start(3).await;
    let (leader, before) = (cluster.leader().await, terms(&cluster));
    cluster.nodes().into_iter().for_each(|node| cluster.slow_down(node, SLOW));
    for number in 0..3 {
        let took = put(&*cluster.store(leader), number).await;
        assert!(took >= SLOW && took < SLOW * 5, "a write took {took:?}");
    }
    assert_eq!(terms(&cluster), before, "there was an election");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_disk_stands_still_is_relieved_once() {
    let cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let others: Vec<_> = cluster.nodes().into_iter().filter(|node| *node != leader).collect();
    let store = cluster.store(others[0]);
    put(&*store, 0).await;
    let (term, _) = terms(&cluster)[0];
    cluster.slow_down(leader, STANDSTILL);
    let mut longest = Duration::ZERO;
    let next = eventually("another member leads", async || {
        longest = longest.max(put_while_relieved(&*store).await);
        cluster.replica(others[0]).status().leader.filter(|next| *next != leader)
    })
    .await;
    let (_, later) = write_for(&*store, Duration::from_secs(2)).await;
    longest = longest.max(later);
    println!("the longest write took {longest:?}");
    assert!(longest < LONGEST, "a write took {longest:?}");
    let after: Vec<_> = others.iter().map(|node| cluster.replica(*node).status()).collect();
    let once = |status: &Status| (status.term, status.leader) == (term + 1, Some(next));
    assert!(others.contains(&next) && after.iter().all(once), "{after:?}");
    // It cannot even note that another one leads, and knows that it does not know: no consistent
    // read is answered from its state.
    let read = timeout(Duration::from_secs(1), cluster.replica(leader).read_index()).await;
    assert!(!matches!(read, Ok(Ok(_))), "{read:?}");

    // It comes back as a follower, and stays one.
    cluster.slow_down(leader, Duration::ZERO);
    let last = cluster.replica(next).read_index().await.unwrap();
    cluster.converge(last).await;
    write_for(&*store, Duration::from_secs(1)).await;
    let after = terms(&cluster);
    assert!(after.iter().all(|(now, by)| (*now, *by) == (term + 1, Some(next))), "{after:?}");
}
