//! Members that come, rise, hand over and go.

use bytes::Bytes;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_raft::replica::Compaction;
use quorate_raft::{AdminError, Role};
use quorate_store::{Operation, Outcome, Revision, Store, Txn};

use crate::cluster::{Cluster, Tuning, eventually, within};

async fn put(store: &dyn Store, number: usize) -> Revision {
    let key = Bytes::from(format!("key/{number:05}"));
    let txn = Txn { conditions: vec![], operations: vec![Operation::Put { key, value: Bytes::from(vec![7; 2000]) }] };
    match within("a write", store.txn(txn)).await.expect("it is decided") {
        Outcome::Committed { revision } => revision,
        conflict @ Outcome::Conflict { .. } => panic!("{conflict:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_comes_by_snapshot_rises_and_the_first_member_goes() {
    let compaction = Compaction { every: 50, keep: 0 };
    let mut cluster = Cluster::tuned(1, Tuning { compaction, ..Tuning::default() }).await;
    for number in 0..300 {
        put(&cluster.replica(1), number).await;
    }
    eventually("the log is cut", async || {
        let AdminAnswer::Status(status) = cluster.ask(1, AdminRequest::Status).await else { panic!("a status") };
        (status.log_purged > 250).then_some(())
    })
    .await;
    for _ in 0..2 {
        let node = cluster.join(1).await;
        assert_eq!(cluster.role(node).await, Some(Role::Learner));
        let revision = put(&cluster.replica(node), 1000).await;
        cluster.converge(revision).await;
        let oldest = cluster.replica(1).status().oldest;
        assert_eq!(cluster.replica(node).status().oldest, oldest, "history comes along");
        assert_eq!(cluster.ask(node, AdminRequest::Promote(node)).await, AdminAnswer::Done);
        assert_eq!(cluster.role(node).await, Some(Role::Voter));
    }
    assert_eq!(cluster.ask(3, AdminRequest::Remove(1)).await, AdminAnswer::Done);
    cluster.halt(1).await;
    let leader = cluster.leader().await;
    assert_ne!(leader, 1);
    let revision = put(&cluster.replica(leader), 2000).await;
    cluster.converge(revision).await;
    let AdminAnswer::Members(members) = cluster.ask(3, AdminRequest::Members).await else { panic!("members") };
    assert_eq!(members.iter().map(|member| member.node).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(cluster.join(leader).await, 4, "the number of the removed member does not come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leadership_goes_where_it_is_sent() {
    let cluster = Cluster::start(3).await;
    for _ in 0..3 {
        let (leader, target) = (cluster.leader().await, cluster.follower().await);
        assert_eq!(cluster.ask(target, AdminRequest::Transfer(Some(target))).await, AdminAnswer::Node(target));
        eventually("everybody follows", async || (cluster.leader().await == target).then_some(())).await;
        put(&cluster.replica(leader), 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_kept() {
    let mut cluster = Cluster::start(1).await;
    let refused = |answer: Result<AdminAnswer, AdminError>, expect: &str| match answer {
        Err(AdminError::Refused(reason)) => assert_eq!(reason, expect),
        other => panic!("{other:?}"),
    };
    let replica = cluster.replica(1);
    refused(replica.ask(AdminRequest::Remove(1)).await, "member 1 is the last voter");
    refused(replica.ask(AdminRequest::Promote(9)).await, "there is no member 9");
    refused(replica.ask(AdminRequest::Transfer(None)).await, "there is no other voter");
    let learner = cluster.join(1).await;
    refused(replica.ask(AdminRequest::Transfer(Some(learner))).await, "member 2 is a learner");
    assert_eq!(cluster.ask(learner, AdminRequest::Remove(learner)).await, AdminAnswer::Done);
    assert_eq!(cluster.role(learner).await, None);
}
