//! A member takes over alone when the quorum is gone: nothing that it has is lost, no revision
//! comes back, and the old cluster stays out.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::select_all;
use openraft::EntryPayload;
use openraft::storage::{IOFlushed, RaftLogReader, RaftLogStorage, RaftStateMachine};
use openraft::type_config::TypeConfigExt;
use openraft::vote::RaftLeaderId;
use quorate_env::disk::{Disk, MemoryDisk, SystemDisk};
use quorate_env::{Fatal, SystemEnv};
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_raft::log::{self, Log};
use quorate_raft::recovery::{REVISION_MARGIN, Recovery, RecoveryError, RecoveryOptions, execute};
use quorate_raft::replica::ReplicaOpenError;
use quorate_raft::state_machine::{self, StateMachine};
use quorate_raft::types::{Command, LogEntry, LogId, Peer, TypeConfig, Vote};
use quorate_raft::{ClusterId, Replica, Role};
use quorate_store::{HistoryError, Operation, Outcome, Revision, Snapshot, Store, Txn};

use crate::cluster::{Cluster, eventually, within};

fn put_txn(number: u64) -> Txn {
    let (key, value) =
        (Bytes::from(format!("key/{:03}", number % 50)), Bytes::from(number.to_string()));
    Txn { conditions: vec![], operations: vec![Operation::Put { key, value }], ..Txn::default() }
}

async fn put(store: &dyn Store, number: u64) -> Revision {
    match within("a write", store.txn(put_txn(number))).await.expect("it is decided") {
        Outcome::Committed { revision } => revision,
        conflict @ Outcome::Conflict { .. } => panic!("{conflict:?}"),
    }
}

/// Keys of users with their values.
fn content(snapshot: &Snapshot) -> Vec<(Bytes, Bytes)> {
    snapshot.range(b"key/", None).map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
}

fn options(
    node: u64,
    cluster: ClusterId,
    disk: Arc<dyn Disk>,
    directory: &Path,
    address: &str,
) -> RecoveryOptions {
    let peer = Peer { address: address.to_owned(), api: String::new() };
    let directory = directory.to_owned();
    RecoveryOptions { node, cluster, naming: "svc".to_owned(), peer, disk, directory }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_member_goes_on_and_the_old_cluster_stays_out() {
    let mut cluster = Cluster::start(3).await;
    for number in 0..100 {
        put(&cluster.replica(1), number).await;
    }
    let last = put(&cluster.replica(2), 100).await;
    cluster.converge(last).await;
    let survivor = cluster.follower().await;
    let expect = content(&cluster.replica(survivor).snapshot());
    let mut lost = cluster.nodes();
    for node in lost.clone() {
        cluster.halt(node).await;
    }
    lost.retain(|node| *node != survivor);

    let old = cluster.id;
    let (folder, address) = (cluster.folder(survivor), cluster.address(survivor).to_owned());
    let options = options(survivor, old, Arc::new(SystemDisk), &folder, &address);
    let recovery =
        eventually("the data is free", async || match Recovery::open(options.clone()).await {
            Ok(recovery) => Some(recovery),
            Err(RecoveryError::State(state_machine::StateOpenError::Locked { .. })) => None,
            Err(error) => panic!("{error}"),
        })
        .await;
    let plan = recovery.plan().clone();
    assert_eq!((plan.old, plan.begun, plan.role), (old, None, Some(Role::Voter)));
    assert_eq!(plan.given_up.iter().map(|given| given.node).collect::<Vec<_>>(), lost);
    let recovered = execute(recovery, &SystemEnv).await.unwrap();
    let begin = recovered.revision;
    cluster.id = recovered.cluster;
    assert_ne!(recovered.cluster, old);

    let credentials = cluster.authority.member(cluster.id, survivor);
    let refused = Replica::open(cluster.options(survivor, &credentials)).await.err().unwrap();
    assert!(matches!(refused, ReplicaOpenError::Recovering { .. }), "{refused}");
    recovered.finish().unwrap();
    cluster.open(survivor).await;
    let replica = cluster.replica(survivor);
    within("it leads alone", replica.recovered()).await;
    assert_eq!(content(&replica.snapshot()), expect);
    assert_eq!(begin.get(), last.get() + REVISION_MARGIN);
    assert_eq!(put(&replica, 200).await, begin.next());
    for at in [1, last.get(), last.get() + 5, begin.get() - 1] {
        let watch = replica.watch(Bytes::new(), Revision::new(at));
        assert_eq!(
            watch.err(),
            Some(HistoryError::Compacted { oldest: begin }),
            "a watch from {at} begins anew"
        );
    }
    let mut watch = replica.watch(Bytes::from_static(b"key/"), begin).unwrap();
    assert_eq!(watch.try_next().unwrap().unwrap().revision(), begin.next());

    the_old_ones_stop(&mut cluster, old, &lost).await;
    for expected in [Role::Learner, Role::Voter] {
        let node = cluster.join(survivor).await;
        assert!(cluster.role(node).await.is_some());
        if expected == Role::Voter {
            assert_eq!(cluster.ask(node, AdminRequest::Promote(node)).await, AdminAnswer::Done);
            assert_eq!(cluster.role(node).await, Some(Role::Voter));
        }
    }
    let revision = put(&cluster.replica(survivor), 300).await;
    cluster.converge(revision).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_log_alone_knows_of_the_members_counts() {
    let mut cluster = Cluster::start(3).await;
    let last = put(&cluster.replica(1), 1).await;
    cluster.converge(last).await;
    let survivor = cluster.follower().await;
    let mut lost = cluster.nodes();
    for node in lost.clone() {
        cluster.halt(node).await;
    }
    lost.retain(|node| *node != survivor);
    let (folder, address) = (cluster.folder(survivor), cluster.address(survivor).to_owned());
    eventually("the data is free", async || std::fs::remove_dir_all(folder.join("state")).ok())
        .await;
    let options = options(survivor, cluster.id, Arc::new(SystemDisk), &folder, &address);
    let recovery =
        eventually("the log is free", async || Recovery::open(options.clone()).await.ok()).await;
    let plan = recovery.plan();
    assert_eq!((plan.revision, plan.role), (Revision::ZERO, Some(Role::Voter)));
    assert_eq!(plan.given_up.iter().map(|given| given.node).collect::<Vec<_>>(), lost);
}

/// Both old members come back, and with them a quorum of the old cluster: they stop when they hear
/// of the new one.
async fn the_old_ones_stop(cluster: &mut Cluster, old: ClusterId, lost: &[u64]) {
    let new = std::mem::replace(&mut cluster.id, old);
    let mut returned = Vec::new();
    for node in lost {
        let options = cluster.options(*node, &cluster.authority.member(old, *node));
        let opened =
            eventually("the data is free", async || Replica::open(options.clone()).await.ok())
                .await;
        returned.push(opened);
    }
    cluster.id = new;
    let expect = format!("cluster {old} had lost its quorum and was given up for cluster {new}");
    // The leader is asked first; when it is gone, the other one asks for votes.
    while !returned.is_empty() {
        let failing = returned.iter().map(|replica: &Replica| Box::pin(replica.failed()));
        let (reason, at, _) = within("one is told", select_all(failing)).await;
        assert!(reason.starts_with(&expect), "{reason}");
        assert!(reason.ends_with("empty its data folder and let it join again"), "{reason}");
        returned.remove(at).halt().await;
    }
}

const OLD: ClusterId = ClusterId::new([7; 16]);
const NODE: u64 = 3;
/// The state is this far, the log to [`LOGGED`].
const APPLIED: u64 = 30;
const LOGGED: u64 = 45;

fn log_id(index: u64) -> LogId {
    LogId { leader_id: RaftLeaderId::new(4, 1), index }
}

fn entries(indexes: std::ops::RangeInclusive<u64>) -> Vec<LogEntry> {
    let entry = |index| {
        let command = Command { time_ms: index, txns: [put_txn(index)].into() };
        LogEntry { log_id: log_id(index), payload: EntryPayload::Normal(command) }
    };
    indexes.map(entry).collect()
}

fn state_options(
    disk: &MemoryDisk,
    directory: &Path,
    cluster: ClusterId,
) -> state_machine::StateMachineOptions {
    let identity = state_machine::StateIdentity { cluster, naming: "svc".to_owned() };
    let disk = Arc::new(disk.clone());
    state_machine::StateMachineOptions {
        disk,
        ..state_machine::StateMachineOptions::new(directory.join("state"), identity)
    }
}

fn log_options(disk: &MemoryDisk, directory: &Path, cluster: ClusterId) -> log::LogOptions {
    let identity = log::LogIdentity { cluster, node: NODE };
    let mut options =
        log::LogOptions::new(Arc::new(disk.clone()), directory.join("log"), identity, Fatal::new());
    (options.segment_bytes, options.first_segment_bytes) = (16 << 10, 16 << 10);
    options
}

/// A state that its log is ahead of, durably.
fn make_state(disk: &MemoryDisk, directory: &Path, upto: u64) -> Snapshot {
    let mut machine = StateMachine::open(&state_options(disk, directory, OLD)).unwrap();
    let entries = entries(1..=upto).into_iter().map(|entry| Ok((entry, None)));
    futures::executor::block_on(machine.apply(futures::stream::iter(entries.collect::<Vec<_>>())))
        .unwrap();
    drop(futures::executor::block_on(machine.get_current_snapshot()).unwrap());
    machine.serving().snapshot()
}

async fn make_log(disk: &MemoryDisk, directory: &Path) {
    let mut log = Log::open(log_options(disk, directory, OLD)).await.unwrap();
    log.save_vote(&Vote::new(6, 2)).await.unwrap();
    // The log of a member begins with the entry that made it one.
    log.purge(log_id(0)).await.unwrap();
    let (sender, durable) = TypeConfig::oneshot();
    log.append(entries(1..=LOGGED), IOFlushed::<TypeConfig>::signal(sender)).await.unwrap();
    durable.await.unwrap().unwrap();
    log.close().await.unwrap();
}

async fn recover(disk: &MemoryDisk, directory: &Path) -> Result<ClusterId, RecoveryError> {
    let options = options(NODE, OLD, Arc::new(disk.clone()), directory, "127.0.0.1:1");
    let recovered = execute(Recovery::open(options).await?, &SystemEnv).await?;
    let cluster = recovered.cluster;
    recovered.finish().map(|()| cluster)
}

/// Everything is the new cluster's, and nothing of the old one's data is missing.
async fn check_recovered(
    disk: &MemoryDisk,
    directory: &Path,
    cluster: ClusterId,
    expect: &Snapshot,
) {
    let machine = StateMachine::open(&state_options(disk, directory, cluster)).unwrap();
    let snapshot = machine.serving().snapshot();
    assert_eq!(content(&snapshot), content(expect));
    let begin = expect.revision().get() + REVISION_MARGIN;
    assert_eq!((snapshot.revision().get(), machine.serving().oldest().get()), (begin, begin));
    for (key, entry) in expect.range(b"key/", None) {
        let found = snapshot.get(key).unwrap();
        // What may have been decided otherwise by the lost members has no revision that they can
        // have given out.
        let certain = entry.modified.get() <= APPLIED;
        assert_eq!(
            found.modified.get(),
            if certain { entry.modified.get() } else { begin },
            "{key:?}"
        );
        assert_eq!(
            found.created.get(),
            if entry.created.get() <= APPLIED { entry.created.get() } else { begin }
        );
    }
    assert_eq!(machine.position().progress.log_id, Some(log_id(LOGGED)));
    let voters: Vec<u64> = machine.position().membership.membership().voter_ids().collect();
    assert_eq!(voters, [NODE]);
    let mut log = Log::open(log_options(disk, directory, cluster)).await.unwrap();
    let state = log.get_log_state().await.unwrap();
    assert_eq!(
        (state.last_purged_log_id, state.last_log_id),
        (Some(log_id(LOGGED)), Some(log_id(LOGGED)))
    );
    assert_eq!(log.read_vote().await.unwrap(), Some(Vote::new(7, NODE)));
}

#[tokio::test]
async fn a_kill_at_any_moment_is_made_good_by_the_next_attempt() {
    let directory = Path::new("/data");
    let expect = make_state(&MemoryDisk::new(), directory, LOGGED);
    let base = MemoryDisk::new();
    make_log(&base, directory).await;
    make_state(&base, directory, APPLIED);
    for calls in 0.. {
        let disk = base.crash(calls);
        disk.crash_after(calls);
        let done = recover(&disk, directory).await;
        let whole = done.is_ok() && !disk.crashed();
        let found = disk.crash(calls + 1000);
        let cluster = match done {
            Ok(cluster) => cluster,
            Err(_) => recover(&found, directory)
                .await
                .unwrap_or_else(|error| panic!("after {calls} calls: {error}")),
        };
        check_recovered(&found, directory, cluster, &expect).await;
        if whole {
            assert!(calls > 15, "only {calls} calls");
            return;
        }
    }
}

#[tokio::test]
async fn what_cannot_be_recovered_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, disk) = (folder.path(), MemoryDisk::new());
    let line = recover(&disk, directory).await.unwrap_err().to_string();
    assert!(line.ends_with("has never had a leader: there is nothing to recover"), "{line}");
    let disk = MemoryDisk::new();
    make_log(&disk, directory).await;
    make_state(&disk, directory, APPLIED);
    let other =
        options(NODE, ClusterId::new([8; 16]), Arc::new(disk.clone()), directory, "127.0.0.1:1");
    let line = Recovery::open(other).await.err().unwrap().to_string();
    assert!(line.contains("belongs to cluster"), "{line}");
}
