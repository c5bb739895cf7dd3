//! The log on disk stays within its bytes, however large its entries are.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;

use bytes::Bytes;
use quorate_env::disk::{Disk, SystemDisk};
use quorate_store::{Operation, Store, Txn};

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
