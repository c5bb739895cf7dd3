//! Members that come, rise, hand over and go.

use bytes::Bytes;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_raft::replica::Compaction;
use quorate_raft::types::Peer;
use quorate_raft::{AdminError, Replica, Role};
use quorate_store::{Operation, Outcome, Revision, Store, Txn};

use crate::cluster::{Cluster, Tuning, eventually, within};

async fn put(store: &dyn Store, number: usize) -> Revision {
    let key = Bytes::from(format!("key/{number:05}"));
    let txn = Txn {
        conditions: vec![],
        operations: vec![Operation::Put { key, value: Bytes::from(vec![7; 2000]) }],
        ..Txn::default()
    };
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
        let AdminAnswer::Status(status) = cluster.ask(1, AdminRequest::Status).await else {
            panic!("a status")
        };
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
    let AdminAnswer::Members(members) = cluster.ask(3, AdminRequest::Members).await else {
        panic!("members")
    };
    assert_eq!(members.iter().map(|member| member.node).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(
        cluster.join(leader).await,
        4,
        "the number of the removed member does not come back"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_that_has_nothing_yet_does_not_vote() {
    let cluster = Cluster::start(3).await;
    let replica = cluster.replica(cluster.leader().await);
    let absent = Peer { address: "127.0.0.1:1".to_owned(), api: String::new() };
    assert_eq!(replica.ask(AdminRequest::Add(absent)).await, Ok(AdminAnswer::Node(4)));
    // The log is so short that it is hardly behind.
    let promoted = within("a promotion", replica.ask(AdminRequest::Promote(4))).await;
    assert_eq!(
        promoted,
        Err(AdminError::Unavailable("member 4 has not answered this leader yet".to_owned()))
    );
    assert_eq!(cluster.role(4).await, Some(Role::Learner));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leadership_goes_where_it_is_sent() {
    let cluster = Cluster::start(3).await;
    for _ in 0..3 {
        let (leader, target) = (cluster.leader().await, cluster.follower().await);
        assert_eq!(
            cluster.ask(target, AdminRequest::Transfer(Some(target))).await,
            AdminAnswer::Node(target)
        );
        eventually("all members follow", async || (cluster.leader().await == target).then_some(()))
            .await;
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
    assert_eq!(replica.ask(AdminRequest::Remove(1)).await, Err(AdminError::LastVoter(1)));
    refused(replica.ask(AdminRequest::Promote(9)).await, "there is no member 9");
    refused(replica.ask(AdminRequest::Transfer(None)).await, "there is no other voter");
    let learner = cluster.join(1).await;
    refused(replica.ask(AdminRequest::Transfer(Some(learner))).await, "member 2 is a learner");
    assert_eq!(cluster.ask(learner, AdminRequest::Remove(learner)).await, AdminAnswer::Done);
    assert_eq!(cluster.role(learner).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_leader_changes_nothing_while_it_hands_over() {
    let mut cluster = Cluster::start(3).await;
    let learner = cluster.join(1).await;
    let leader = cluster.leader().await;
    let replica = cluster.replica(leader);
    // It is removed in its own log, and leads on until another member has taken over.
    let asked_when_out = eventually("the leader is out", async || {
        let is_out = replica.members().iter().all(|member| member.node != leader);
        if is_out { Some(replica.ask(AdminRequest::Promote(learner)).await) } else { None }
    });
    let (removed, promoted) =
        tokio::join!(cluster.ask(leader, AdminRequest::Remove(leader)), asked_when_out);
    assert_eq!(removed, AdminAnswer::Done);
    let expect = AdminError::Unavailable("this node was removed and is handing over".to_owned());
    assert_eq!(promoted, Err(expect));
    cluster.halt(leader).await;
    let next = cluster.leader().await;
    assert_eq!(cluster.role(learner).await, Some(Role::Learner), "nothing was proposed");
    // Until it has committed something, the next leader does not know that the removal is.
    put(&cluster.replica(next), 1).await;
    assert_eq!(cluster.ask(next, AdminRequest::Promote(learner)).await, AdminAnswer::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_of_the_same_members_one_is_refused() {
    let cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let replica = cluster.replica(leader);
    let others: Vec<_> = cluster.nodes().into_iter().filter(|node| *node != leader).collect();
    let remove = |node| within("a removal", replica.ask(AdminRequest::Remove(node)));
    // Each looks at three voters before the other one proposes anything.
    let answers = tokio::join!(remove(others[0]), remove(others[1]));
    let refused = match answers {
        (Ok(AdminAnswer::Done), Err(refused)) | (Err(refused), Ok(AdminAnswer::Done)) => refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused, AdminError::Unavailable("the members are just changing".to_owned()));
    assert_eq!(replica.members().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_its_leader_left_half_done_is_completed() {
    let mut cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let [gone, removed] =
        cluster.nodes().into_iter().filter(|node| *node != leader).collect::<Vec<_>>()[..]
    else {
        panic!("three members")
    };
    cluster.halt(gone).await;
    let (replica, staying) = (cluster.replica(leader), cluster.replica(removed));
    // Without the one that is gone, the new voters have no majority: the first half of the change
    // stays where it is.
    let asking = tokio::spawn(async move { replica.ask(AdminRequest::Remove(removed)).await });
    eventually("the change has begun", async || changing_voters(&staying).await.then_some(()))
        .await;
    let refused = cluster
        .replica(leader)
        .ask(AdminRequest::Remove(gone))
        .await
        .expect_err("one is half done");
    assert!(refused.to_string().contains("is under way"), "{refused}");
    cluster.halt(leader).await;
    asking.await.expect("it was asked").expect_err("no quorum confirmed it");
    assert!(changing_voters(&staying).await);
    cluster.open(leader).await;
    cluster.open(gone).await;
    for staying in [leader, gone] {
        eventually("the change is complete", async || {
            let staying = cluster.replica(staying);
            let is_out = staying.members().iter().all(|member| member.node != removed);
            (is_out && !changing_voters(&staying).await).then_some(())
        })
        .await;
    }
    cluster.halt(removed).await;
    put(&cluster.replica(leader), 1).await;
}

async fn changing_voters(replica: &Replica) -> bool {
    match within("a status", replica.ask(AdminRequest::Status)).await {
        Ok(AdminAnswer::Status(status)) => status.changing_voters,
        other => panic!("{other:?}"),
    }
}
