//! The log on disk stays within its bytes, however large its entries are; and what was deleted or
//! written over gives its space back by itself, while the member serves (etcd#9222).

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_env::disk::{Disk, SystemDisk};
use quorate_raft::replica::Compaction;
use quorate_store::{Operation, Retention, Store, Txn};

use crate::cluster::{Cluster, Tuning, eventually};

/// Bytes that the log may take in this test.
const LOG_BYTES: u64 = 1 << 20;

/// Files that vanish meanwhile count nothing.
fn bytes_in(folder: &Path) -> u64 {
    let files = SystemDisk.list(folder).unwrap();
    files.iter().map(|file| SystemDisk.open(file).and_then(|file| file.length()).unwrap_or(0)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_large_entries_is_cut_and_nothing_is_lost() {
    let mut cluster =
        Cluster::tuned(1, Tuning { log_bytes: Some(LOG_BYTES), ..Tuning::default() }).await;
    let value = Bytes::from(vec![b'x'; 64 << 10]);
    for number in 0..64 {
        let put = Operation::Put { key: Bytes::from(format!("k/{number}")), value: value.clone() };
        cluster
            .replica(1)
            .txn(Txn { conditions: vec![], operations: vec![put], ..Txn::default() })
            .await
            .unwrap();
    }
    let folder = cluster.folder(1).join("log");
    // What is needed, the segment made ahead, and the spare ones.
    eventually("the log is cut", async || (bytes_in(&folder) <= 2 * LOG_BYTES).then_some(())).await;
    cluster.halt(1).await;
    cluster.open(1).await;
    cluster.replica(1).recovered().await;
    let snapshot = cluster.replica(1).snapshot();
    assert_eq!(snapshot.count(b"k/", None), 64);
    assert_eq!(snapshot.get(b"k/63").unwrap().value, value);
}

/// Bytes of everything below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn space_comes_back_without_a_chore_and_nothing_stops_meanwhile() {
    const KEYS: usize = 128;
    const ROUNDS: usize = 4;
    const SEGMENT_BYTES: u64 = 1 << 20;
    let tuning = Tuning {
        retention: Retention { time_ms: 100, bytes: SEGMENT_BYTES },
        compaction: Compaction { every: 50, keep: 10 },
        log_bytes: Some(LOG_BYTES),
        journal_segment_bytes: Some(SEGMENT_BYTES),
        ..Tuning::default()
    };
    let cluster = Cluster::tuned(1, tuning).await;
    let (replica, folder) = (cluster.replica(1), cluster.folder(1));
    let commit = async |operation: Operation| {
        let begin = Instant::now();
        let txn = Txn { conditions: vec![], operations: vec![operation], ..Txn::default() };
        replica.txn(txn).await.unwrap();
        begin.elapsed()
    };
    let value = Bytes::from(vec![b'x'; 64 << 10]);
    let key = |number: usize| Bytes::from(format!("k/{number}"));
    let mut slowest = Duration::ZERO;
    for number in (0..KEYS).cycle().take(KEYS * ROUNDS) {
        let put = Operation::Put { key: key(number), value: value.clone() };
        slowest = slowest.max(commit(put).await);
    }
    let most = bytes_below(&folder);
    assert!(most > (KEYS * value.len()) as u64, "{most} bytes hold less than what lives");
    for number in 0..KEYS {
        slowest = slowest.max(commit(Operation::Delete { key: key(number) }).await);
    }
    let least = eventually("the space is free again", async || {
        // As in any cluster, something small happens now and then.
        let tick = Operation::Put { key: "tick".into(), value: Bytes::from_static(b"t") };
        slowest = slowest.max(commit(tick).await);
        Some(bytes_below(&folder)).filter(|bytes| *bytes <= 2 * LOG_BYTES + 3 * SEGMENT_BYTES)
    })
    .await;
    println!("{most} bytes, then {least}; the slowest of all writes took {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "a write took {slowest:?}");
}
