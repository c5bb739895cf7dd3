//! Members that vanish and come back: nothing acknowledged is lost, no revision comes twice,
//! watches go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_store::{Error, NodeId, Operation, Outcome, Revision, Store, Txn};
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, Tuning, eventually, within};
use quorate_raft::admin::AdminRequest;
use quorate_raft::replica::Compaction;
use quorate_raft::{AdminError, Replica};

/// Longest time that writes may fail when a leader vanishes, on a busy machine.
const OUTAGE: Duration = Duration::from_secs(4);

/// What a writer knows at the end.
#[derive(Default)]
struct Written {
    /// Revision and key of each acknowledged transaction.
    acknowledged: BTreeMap<Revision, Bytes>,
    longest: Duration,
    unknown: usize,
}

/// Creates one key after the other until told to stop.
fn write(store: Arc<dyn Store>, name: &'static str, stop: Arc<AtomicBool>) -> JoinHandle<Written> {
    tokio::spawn(async move {
        let mut written = Written::default();
        for number in 0_u64.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let started = Instant::now();
            let key = Bytes::from(format!("{name}/{number:06}"));
            let put = Operation::Put { key: key.clone(), value: Bytes::from(number.to_string()) };
            match store
                .txn(Txn { conditions: vec![], operations: vec![put], ..Txn::default() })
                .await
            {
                Ok(Outcome::Committed { revision }) => {
                    assert_eq!(
                        written.acknowledged.insert(revision, key),
                        None,
                        "a revision came twice"
                    );
                }
                Ok(conflict @ Outcome::Conflict { .. }) => panic!("{conflict:?}"),
                Err(Error::Unknown(_)) => written.unknown += 1,
                Err(error @ Error::NotApplied(_)) => panic!("refused: {error}"),
            }
            written.longest = written.longest.max(started.elapsed());
        }
        written
    })
}

/// Collects what a watch says until it has passed this revision.
async fn watched(
    store: Arc<dyn Store>,
    after: Revision,
    until: Revision,
) -> BTreeMap<Revision, Vec<Bytes>> {
    let mut watch = store.watch(Bytes::new(), after).expect("the history is kept");
    let mut seen = BTreeMap::new();
    while seen.last_key_value().is_none_or(|(last, _)| *last < until) {
        let batch = within("the watch goes on", watch.next()).await.expect("the history is kept");
        let keys = batch.events().map(|event| event.key.clone()).collect();
        assert_eq!(seen.insert(batch.revision(), keys), None, "an event came twice");
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_vanishes_again_and_again() {
    let mut cluster = Cluster::start(3).await;
    for round in 0..3 {
        let (leader, stop) = (cluster.leader().await, Arc::new(AtomicBool::new(false)));
        let after = cluster.replica(leader).read_index().await.unwrap();
        let survivors: Vec<_> =
            cluster.nodes().into_iter().filter(|node| *node != leader).collect();
        let name = ["first", "second", "third"][round];
        let writers: Vec<_> =
            survivors.iter().map(|node| write(cluster.store(*node), name, stop.clone())).collect();
        within(
            "the writers have begun",
            cluster.replica(survivors[0]).applied(Revision::new(after.get() + 20)),
        )
        .await;
        cluster.halt(leader).await;
        let next = cluster.leader().await;
        let elected = cluster.replica(next).read_index().await.unwrap();
        within("writes go on", cluster.replica(next).applied(Revision::new(elected.get() + 20)))
            .await;
        cluster.open(leader).await;
        within("the old leader follows", cluster.replica(leader).recovered()).await;
        stop.store(true, Ordering::Relaxed);
        let mut acknowledged = BTreeMap::new();
        for writer in writers {
            let written = within("a writer ends", writer).await.unwrap();
            assert!(written.longest < OUTAGE, "an outage of {:?}", written.longest);
            assert!(written.unknown <= 2, "{} unknown outcomes", written.unknown);
            for (revision, key) in written.acknowledged {
                assert_eq!(acknowledged.insert(revision, key), None, "a revision came twice");
            }
        }
        let last = *acknowledged.last_key_value().unwrap().0;
        cluster.converge(last).await;
        for node in cluster.nodes() {
            let seen = watched(cluster.store(node), after, last).await;
            assert!(
                seen.keys()
                    .zip(after.get() + 1..)
                    .all(|(revision, expect)| revision.get() == expect),
                "a gap"
            );
            assert!(
                acknowledged.iter().all(|(revision, key)| seen[revision].contains(key)),
                "an acknowledged write is gone"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_vanishes_at_once() {
    let compaction = Compaction { every: 100, keep: 10 };
    let mut cluster = Cluster::tuned(3, Tuning { compaction, ..Tuning::default() }).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = write(cluster.store(1), "all", stop.clone());
    within("some writes", cluster.replica(1).applied(Revision::new(500))).await;
    stop.store(true, Ordering::Relaxed);
    let written = within("the writer ends", writer).await.unwrap();
    let last = *written.acknowledged.last_key_value().unwrap().0;
    cluster.converge(last).await;
    let digest = cluster.replica(1).snapshot_at(last).unwrap().digest();
    for node in cluster.nodes() {
        cluster.halt(node).await;
    }
    for node in 1..=3 {
        cluster.open(node).await;
    }
    let started = Instant::now();
    for node in cluster.nodes() {
        within("a member recovers", cluster.replica(node).recovered()).await;
        assert_eq!(cluster.replica(node).snapshot_at(last).unwrap().digest(), digest);
        let seen = watched(cluster.store(node), Revision::ZERO, last).await;
        assert!(written.acknowledged.iter().all(|(revision, key)| seen[revision].contains(key)));
    }
    assert!(started.elapsed() < OUTAGE, "back only after {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stops_hands_over_and_nobody_notices() {
    let mut cluster = Cluster::start(3).await;
    let (leader, stop) = (cluster.leader().await, Arc::new(AtomicBool::new(false)));
    let survivors: Vec<_> = cluster.nodes().into_iter().filter(|node| *node != leader).collect();
    let writers: Vec<_> =
        survivors.iter().map(|node| write(cluster.store(*node), "calm", stop.clone())).collect();
    within("the writers have begun", cluster.replica(survivors[0]).applied(Revision::new(20)))
        .await;
    cluster.stop(leader).await;
    let next = cluster.leader().await;
    assert_ne!(next, leader);
    let elected = cluster.replica(next).read_index().await.unwrap();
    within("writes go on", cluster.replica(next).applied(Revision::new(elected.get() + 20))).await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        let written = within("a writer ends", writer).await.unwrap();
        assert_eq!(written.unknown, 0, "no write was in doubt");
        assert!(written.longest < OUTAGE / 2, "an outage of {:?}", written.longest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_quorum_nothing_is_acknowledged_and_reads_are_refused() {
    let mut cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    for node in cluster.nodes().into_iter().filter(|node| *node != leader) {
        cluster.halt(node).await;
    }
    let alone = cluster.replica(leader);
    let refused = eventually("reads are refused", async || alone.read_index().await.err()).await;
    assert!(matches!(refused, Error::NotApplied(_)), "{refused}");
    let ready = within("an answer", alone.ask(AdminRequest::Ready)).await;
    assert!(matches!(ready, Err(AdminError::Unavailable(_))), "{ready:?}");
    let put = Operation::Put { key: Bytes::from_static(b"k"), value: Bytes::new() };
    let refused = within(
        "the write ends",
        alone.txn(Txn { conditions: vec![], operations: vec![put], ..Txn::default() }),
    )
    .await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_knows_who_is_silent() {
    let mut cluster = Cluster::start(3).await;
    let (leader, gone) = (cluster.leader().await, cluster.follower().await);
    let alive = cluster.nodes().into_iter().find(|node| ![leader, gone].contains(node)).unwrap();
    let heard = |replica: Replica, node: NodeId| replica.heard().get(&node).copied();
    let short = |ago: Option<Duration>| ago.filter(|ago| *ago < Duration::from_secs(1));
    for node in [gone, alive] {
        eventually("both answer", async || short(heard(cluster.replica(leader), node))).await;
    }
    assert_eq!(heard(cluster.replica(alive), gone), None, "only the leader knows");
    cluster.halt(gone).await;
    eventually("one is silent", async || {
        let leader = cluster.replica(leader);
        heard(leader.clone(), gone).filter(|ago| *ago > Duration::from_secs(2))?;
        short(heard(leader, alive))
    })
    .await;
}
