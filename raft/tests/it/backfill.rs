//! The past of a member whose archive was lost, and of one that joins late, comes from the others.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_raft::admin::{AdminAnswer, AdminRequest, NodeStatus};
use quorate_raft::replica::Compaction;
use quorate_store::{Batch, NodeId, Operation, Outcome, Past, Retention, Revision, Store, Txn};

use crate::cluster::{Cluster, Tuning, eventually, within};

/// Transactions before the archive is lost; many times what the journals keep.
const WRITES: usize = 200;
/// In so many parts they are written and archived.
const ROUNDS: usize = 8;
/// How long what is missing may take; less than [`eventually`] waits, so that a failure says what it has
/// seen.
const LIMIT: Duration = Duration::from_secs(170);
/// Bytes of changes that the journals keep.
const JOURNAL_BYTES: u64 = 10_000;

async fn write(cluster: &Cluster, numbers: std::ops::Range<usize>) -> Revision {
    let store = cluster.replica(cluster.leader().await);
    let mut last = Revision::ZERO;
    for number in numbers {
        let key = Bytes::from(format!("key/{}", number % 7));
        let operation = match number % 5 {
            4 => Operation::Delete { key },
            _ => Operation::Put { key, value: Bytes::from(format!("{number:0500}")) },
        };
        let origin = Bytes::from(format!("user {number}"));
        let txn = Txn { operations: vec![operation], origin, ..Txn::default() };
        match within("a write", store.txn(txn)).await.expect("it is decided") {
            Outcome::Committed { revision } => last = revision,
            conflict @ Outcome::Conflict { .. } => panic!("{conflict:?}"),
        }
    }
    last
}

fn changes(past: &dyn Past) -> Vec<Batch> {
    let (mut found, newest) = (Vec::new(), past.extent().newest);
    let mut reached = Revision::ZERO;
    while reached < newest {
        let batches = past.changes(reached, 1 << 20).expect("the past is whole");
        found.extend(batches.iter().map(|batch| Batch::clone(batch)));
        reached = found.last().expect("there is more").revision;
    }
    found
}

/// Waits until a member has all of the past, and compares it with another member's.
async fn check(cluster: &Cluster, node: NodeId, like: NodeId) {
    let past = cluster.store(node).past().expect("it keeps one");
    let expect = cluster.store(like).past().expect("it keeps one");
    let newest = expect.extent().newest;
    within("it applies", cluster.store(node).applied(newest)).await;
    // A snapshot that was just installed is a gap that the writer has yet to see.
    let begin = Instant::now();
    let status = eventually("the past is whole", async || {
        let status = cluster.replica(node).archive().expect("it keeps one");
        let seen = || format!("{newest}: {status:?}; node {like} has {:?}", expect.extent());
        assert!(begin.elapsed() < LIMIT, "the past is not whole up to {}", seen());
        let is_whole = status.oldest == Revision::ZERO && status.gaps.is_empty();
        (is_whole && status.archived >= newest).then_some(status)
    })
    .await;
    assert!(status.filled_transactions > 0, "nothing was missing: {status:?}");
    assert_eq!(past.extent(), expect.extent());
    assert_eq!(changes(&*past), changes(&*expect));
    for at in (0..=newest.get()).step_by(9).map(Revision::new) {
        assert_eq!(past.range(b"", None, at, 99), expect.range(b"", None, at, 99), "{at}");
    }
}

/// Waits until no member has this log entry any more, so that a member without it gets a snapshot.
async fn purged(cluster: &Cluster, index: u64) {
    eventually("the logs are purged", async || {
        for node in cluster.nodes() {
            if status(cluster, node).await.log_purged < index {
                return None;
            }
        }
        Some(())
    })
    .await;
}

async fn status(cluster: &Cluster, node: NodeId) -> NodeStatus {
    match cluster.ask(node, AdminRequest::Status).await {
        AdminAnswer::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

/// Waits until all members have archived this revision.
async fn archived(cluster: &Cluster, upto: Revision) {
    eventually("all archives follow", async || {
        let archived = |node| cluster.replica(node).archive().expect("it keeps one").archived;
        cluster.nodes().into_iter().all(|node| archived(node) >= upto).then_some(())
    })
    .await;
}

fn tuning() -> Tuning {
    Tuning {
        archive: true,
        retention: Retention { time_ms: u64::MAX, bytes: JOURNAL_BYTES },
        journal_segment_bytes: Some(JOURNAL_BYTES / 4),
        compaction: Compaction { every: 50, keep: 0 },
        ..Tuning::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_archive_and_that_of_a_member_that_joins() {
    let mut cluster = Cluster::tuned(3, tuning()).await;
    // What is not archived yet, the journals hold; with later writes they forget it.
    for round in 0..ROUNDS {
        let each = WRITES / ROUNDS;
        archived(&cluster, write(&cluster, round * each..(round + 1) * each).await).await;
    }
    let lost = cluster.follower().await;
    cluster.halt(lost).await;
    std::fs::remove_dir_all(cluster.folder(lost).join("archive")).expect("the archive is there");
    cluster.open(lost).await;
    within("it recovers", cluster.replica(lost).recovered()).await;
    let leader = cluster.leader().await;
    check(&cluster, lost, leader).await;
    assert!(cluster.replica(lost).status().oldest > Revision::ZERO, "the journal has not all");
    archived(&cluster, write(&cluster, WRITES..WRITES + 20).await).await;
    purged(&cluster, 1).await;
    let fourth = cluster.join(leader).await;
    check(&cluster, fourth, lost).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_was_away_for_long() {
    let mut cluster = Cluster::tuned(3, tuning()).await;
    archived(&cluster, write(&cluster, 0..20).await).await;
    let away = cluster.follower().await;
    let held = status(&cluster, away).await.log_last;
    cluster.halt(away).await;
    let last = write(&cluster, 20..WRITES).await;
    purged(&cluster, held + 1).await;
    cluster.open(away).await;
    within("it recovers", cluster.replica(away).recovered()).await;
    within("it applies", cluster.store(away).applied(last)).await;
    check(&cluster, away, cluster.leader().await).await;
}
