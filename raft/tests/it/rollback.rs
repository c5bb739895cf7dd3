//! The rollback check: a member whose disk is replaced by an older copy stops, and does not start
//! any more.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::fs;
use std::path::Path;

use bytes::Bytes;
use quorate_raft::Replica;
use quorate_raft::replica::ReplicaOpenError;
use quorate_raft::state_machine;
use quorate_store::{Operation, Outcome, Store, Txn};

use crate::cluster::{Cluster, eventually, within};

async fn put(store: &dyn Store) {
    let operation =
        Operation::Put { key: Bytes::from_static(b"key"), value: Bytes::from_static(b"value") };
    let txn = Txn { conditions: vec![], operations: vec![operation], ..Txn::default() };
    match within("a write", store.txn(txn)).await.unwrap() {
        Outcome::Committed { .. } => {}
        conflict @ Outcome::Conflict { .. } => panic!("{conflict:?}"),
    }
}

/// The leader knows that the member has everything.
async fn confirmed(cluster: &Cluster, node: u64) {
    let leader = cluster.replica(cluster.leader().await);
    let lag = || leader.members().into_iter().find(|member| member.node == node)?.lag;
    eventually("everything is confirmed", async || (lag() == Some(0)).then_some(())).await;
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// Why a member does not start.
async fn refused(cluster: &Cluster, node: u64) -> String {
    let options = cluster.options(node, &cluster.authority.member(cluster.id, node));
    eventually("the data is free", async || match Replica::open(options.clone()).await {
        Err(
            ReplicaOpenError::State(state_machine::StateOpenError::Locked { .. })
            | ReplicaOpenError::Listen { .. },
        ) => None,
        Err(ReplicaOpenError::Older(reason)) => Some(reason),
        other => panic!("{:?}", other.map(drop)),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_a_disk_is_refused_for_good() {
    let mut cluster = Cluster::start(3).await;
    let node = cluster.follower().await;
    cluster.halt(node).await;
    let (folder, backup) = (cluster.folder(node), cluster.folder(99));
    copy(&folder, &backup);
    cluster.open(node).await;
    put(&cluster.replica(node)).await;
    confirmed(&cluster, node).await;
    cluster.halt(node).await;
    cluster.open(node).await;
    confirmed(&cluster, node).await;

    cluster.halt(node).await;
    fs::remove_dir_all(&folder).unwrap();
    copy(&backup, &folder);
    let reason = refused(&cluster, node).await;
    assert!(reason.starts_with("this node had vote "), "{reason}");
    assert!(
        reason.ends_with("remove this member, empty its data folder and let it join again"),
        "{reason}"
    );
    for other in cluster.nodes() {
        cluster.halt(other).await;
    }
    assert_eq!(refused(&cluster, node).await, reason, "also when no other member remembers");
}
