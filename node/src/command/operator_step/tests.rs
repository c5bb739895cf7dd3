//! The decisions of pods, the form of the registration, and which nodes have lost their pods.

use std::time::Duration;

use quorate_raft::admin::TokenInfo;
use quorate_raft::{ClusterId, Member, Role};
use tokio::time::advance;

use super::decision::{Decision, Folder, decide};
use super::departed::Departed;
use super::registration::{Founded, Registration};
use super::{follow, ordinal};
use crate::cli::PodRole::{self, Api, Voter};

const ONE: ClusterId = ClusterId::new([1; 16]);
const OTHER: ClusterId = ClusterId::new([2; 16]);

fn founded(token: Option<&str>) -> Registration {
    let token = token.map(str::to_owned);
    Registration::Founded(Founded { cluster: ONE, ca_hash: "sha256:00".to_owned(), token })
}

fn founding() -> Registration {
    Registration::Founding { claim: "a".to_owned() }
}

#[test]
fn only_the_first_voter_founds_and_only_where_nothing_was() {
    let check = |folder, registered: Option<Registration>, pod: (PodRole, u64), answers, expect| {
        assert_eq!(decide(folder, registered.as_ref(), pod, answers), expect);
    };
    use Decision::{Found, Wait};
    let (empty, first) = (Folder::Empty, (Voter, 0));
    check(empty, None, first, false, Found);
    // An interrupted founding: nothing was served yet.
    check(empty, Some(founding()), first, false, Found);
    let unfounded = || Wait("the cluster is not founded yet");
    check(empty, None, (Voter, 1), false, unfounded());
    check(empty, Some(founding()), (Voter, 1), false, unfounded());
    check(empty, None, (Api, 0), false, unfounded());
    // A founding that was begun and not registered is begun again.
    let begun = Folder::Founding(OTHER);
    check(begun, None, first, false, Found);
    check(begun, Some(founding()), first, false, Found);
    check(begun, None, (Voter, 1), false, unfounded());
    // The registration was deleted, the others serve.
    check(begun, None, first, true, Wait("a member answers, and will register the cluster again"));
    check(empty, None, first, true, Wait("a member answers, and will register the cluster again"));
    check(
        Folder::Left,
        None,
        first,
        false,
        Wait("the node has left a cluster that is not registered"),
    );
    // The first voter has lost its disk.
    check(
        empty,
        Some(founded(None)),
        first,
        false,
        Wait("the leader has not made a join token yet"),
    );
}

#[test]
fn others_join_and_what_is_set_up_stays() {
    let check = |folder, registered: Option<Registration>, pod: (PodRole, u64), expect| {
        assert_eq!(decide(folder, registered.as_ref(), pod, false), expect);
    };
    let join = || Decision::Join { ca_hash: "sha256:00".to_owned(), token: "t.s".to_owned() };
    for pod in [(Voter, 0), (Voter, 1), (Api, 0)] {
        check(Folder::Empty, Some(founded(Some("t.s"))), pod, join());
        check(Folder::Left, Some(founded(Some("t.s"))), pod, join());
        check(Folder::SetUp(ONE), Some(founded(None)), pod, Decision::Keep);
        let Decision::Refuse(why) = decide(Folder::SetUp(OTHER), Some(&founded(None)), pod, false)
        else {
            panic!("a folder of another cluster");
        };
        assert!(why.contains("only one of them can be right"), "{why}");
    }
    // One that was registered, by a process that has not heard of it, serves; one that was too late joins.
    check(Folder::Founding(ONE), Some(founded(None)), (Voter, 0), Decision::Keep);
    check(Folder::Founding(OTHER), Some(founded(Some("t.s"))), (Voter, 0), join());
    // Data count more than a claim, with every voter.
    for pod in [(Voter, 0), (Voter, 1)] {
        check(Folder::SetUp(ONE), Some(founding()), pod, Decision::Publish);
        check(Folder::SetUp(ONE), None, pod, Decision::Publish);
    }
    check(Folder::SetUp(ONE), None, (Api, 0), Decision::Keep);
}

#[test]
fn the_registration_survives_its_secret() {
    for registration in [founding(), founded(None), founded(Some("t.s"))] {
        let secret = registration.write("name", Some("7"));
        assert_eq!(Registration::read(&secret).unwrap(), registration);
        assert_eq!(secret.str_at(&["metadata", "resourceVersion"]), Some("7"));
    }
    let strange = serde_json::json!({"data": {"state": "eA=="}}).into();
    assert!(Registration::read(&strange).is_err());
    assert!(!format!("{:?}", founded(Some("t.secret"))).contains("secret"));
}

#[test]
fn a_token_is_replaced_before_it_ends() {
    const HOUR: u64 = 3_600_000;
    let known = |id: &str, expires_ms| {
        let (id, description) = (id.to_owned(), String::new());
        [TokenInfo { id, description, created_ms: 0, expires_ms }]
    };
    let check = |token: Option<&str>, tokens: [TokenInfo; 1], expect| {
        let Registration::Founded(founded) = founded(token) else {
            panic!("it is founded");
        };
        assert_eq!(follow::is_valid(&founded, &tokens, 100 * HOUR), expect);
    };
    check(Some("t.s"), known("t", 113 * HOUR), true);
    check(Some("t.s"), known("t", 112 * HOUR), false);
    check(Some("t.s"), known("u", 120 * HOUR), false);
    check(None, known("t", 120 * HOUR), false);
}

#[test]
fn a_pod_has_a_number() {
    assert_eq!(ordinal("a-b-12").unwrap(), ("a-b", 12));
    assert!(ordinal("api-7d9f-x2x").is_err());
    assert!(ordinal("lone").is_err());
}

#[tokio::test(start_paused = true)]
async fn nodes_whose_pods_are_gone_are_found_after_a_while() {
    const LIMIT: Duration = Duration::from_secs(600);
    let member = |node, address: &str, api: &str, role| {
        let (address, api) = (address.to_owned(), api.to_owned());
        Member { node, address, api, role, lag: None }
    };
    let members = [
        member(1, "10.0.0.1:7443", "q.n.svc:443", Role::Leader),
        member(2, "q-1.q-peers.n.svc.cluster.local:7443", "q.n.svc:443", Role::Learner),
        member(3, "10.0.0.3:7443", "elsewhere:6443", Role::Learner),
        member(4, "10.0.0.4:7443", "q.n.svc:443", Role::Learner),
        member(5, "10.0.0.5:7443", "q.n.svc:443", Role::Learner),
    ];
    let mut departed = Departed::default();
    let mut check = |pods: &[&str], expect: &[u64]| {
        let pods = pods.iter().map(|pod| (*pod).to_owned()).collect();
        assert_eq!(departed.overdue(&members, "q.n.svc:443", &pods, LIMIT), expect);
    };
    check(&["10.0.0.5"], &[]);
    advance(LIMIT - Duration::from_secs(1)).await;
    check(&["10.0.0.5"], &[]);
    advance(Duration::from_secs(1)).await;
    check(&["10.0.0.5"], &[4]);
    // One that is back begins anew.
    check(&["10.0.0.4", "10.0.0.5"], &[]);
    check(&[], &[]);
    advance(LIMIT).await;
    check(&["10.0.0.4"], &[5]);
}
