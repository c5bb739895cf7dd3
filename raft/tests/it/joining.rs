//! Admission of callers: tokens, certificates, clusters.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use quorate_env::SystemEnv;
use quorate_raft::admin::{AdminAnswer, AdminClient, AdminRequest, JoinRequest, JoinToken, join};
use quorate_raft::replica::ReplicaOpenError;
use quorate_raft::types::Peer;
use quorate_raft::{AdminError, ClusterId, Credentials, PEER_NAME, PeerTls, Replica};
use quorate_store::Store;

use crate::cluster::{Authority, Cluster, eventually, within};

fn request(token: JoinToken, csr: &'static str) -> JoinRequest {
    let peer = Peer { address: "127.0.0.1:1".to_owned(), api: "127.0.0.1:2".to_owned() };
    JoinRequest { token, peer, csr: Bytes::from(csr) }
}

/// Tries to join and gives the error.
async fn refused(
    cluster: &Cluster,
    node: u64,
    authority: [u8; 32],
    request: JoinRequest,
) -> String {
    let joining = join(SystemEnv::env().network, cluster.address(node), authority, &request);
    within("a join", joining).await.expect_err("the join is refused").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_the_door_until_it_is_revoked() {
    let cluster = Cluster::start(3).await;
    let (follower, hash) = (cluster.follower().await, cluster.authority.hash());
    let unknown = "the join token is unknown, revoked or expired";
    let forged = JoinToken::generate(&SystemEnv);
    assert_eq!(refused(&cluster, follower, hash, request(forged, "please")).await, unknown);
    let token = cluster.token(follower).await;
    let other = cluster.token(follower).await.to_string();
    let mixed: JoinToken = format!("{}.{}", token.id(), &other[9..]).parse().unwrap();
    assert_eq!(refused(&cluster, follower, hash, request(mixed, "please")).await, unknown);
    let reason = refused(&cluster, follower, hash, request(token.clone(), "give")).await;
    assert_eq!(reason, "this is no certificate request");
    let stranger = Authority::new().hash();
    let reason = refused(&cluster, follower, stranger, request(token.clone(), "please")).await;
    assert!(reason.contains("the server is not of the cluster that the token names"), "{reason}");
    let AdminAnswer::Tokens(tokens) = cluster.ask(1, AdminRequest::Tokens).await else {
        panic!("tokens")
    };
    assert_eq!(tokens.len(), 2);
    for info in tokens {
        assert_eq!(cluster.ask(2, AdminRequest::RevokeToken(info.id)).await, AdminAnswer::Done);
    }
    assert_eq!(refused(&cluster, follower, hash, request(token.clone(), "please")).await, unknown);
    let again = cluster.replica(3).ask(AdminRequest::RevokeToken(token.id().to_owned())).await;
    assert_eq!(again, Err(AdminError::Refused(format!("there is no token {}", token.id()))));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_stored() {
    let cluster = Cluster::start(1).await;
    let token = cluster.token(1).await.to_string();
    let (_, secret) = token.split_once('.').unwrap();
    let snapshot = cluster.replica(1).snapshot();
    let holds =
        |value: &[u8]| value.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(snapshot.range(b"s/tokens/", None).count() == 1);
    assert!(snapshot.range(b"", None).all(|(_, entry)| !holds(&entry.value)));
}

/// Asks the first member for its status, with these credentials and as of this cluster.
async fn ask(
    cluster: &Cluster,
    credentials: &Credentials,
    id: ClusterId,
) -> Result<AdminAnswer, AdminError> {
    let unavailable = |error: &dyn Display| AdminError::Unavailable(error.to_string());
    let tls = Arc::new(PeerTls::new(credentials).map_err(|error| unavailable(&error))?);
    let network = SystemEnv::env().network;
    let client = AdminClient::connect(network, tls, id, cluster.address(1)).await;
    let mut client = client.map_err(|error| unavailable(&error))?;
    within("an answer", client.ask(AdminRequest::Status)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_members_of_this_cluster_are_heard() {
    let cluster = Cluster::start(1).await;
    let (authority, id, other) = (&cluster.authority, cluster.id, ClusterId::new([1; 16]));
    let Ok(AdminAnswer::Status(status)) = ask(&cluster, &authority.member(id, 1), id).await else {
        panic!("a status")
    };
    assert_eq!((status.cluster, status.store.leader, status.members.len()), (id, Some(1), 1));
    let check = async |credentials: Credentials, id: ClusterId, expect: &str| {
        let reason = ask(&cluster, &credentials, id).await.unwrap_err();
        assert!(!matches!(reason, AdminError::Gone(_)), "{reason:?}");
        assert!(reason.to_string().contains(expect), "{reason}");
    };
    check(
        authority.member(other, 1),
        other,
        &format!("this is cluster {id}, the caller is of cluster {other}"),
    )
    .await;
    check(
        authority.member(other, 1),
        id,
        &format!("the caller's certificate is of cluster {other}"),
    )
    .await;
    check(
        authority.named(&[PEER_NAME.to_owned()]),
        id,
        "the caller's certificate does not say which node",
    )
    .await;
    check(Authority::new().member(id, 1), id, "invalid peer certificate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_is_refused_though_its_certificate_is_valid() {
    let mut cluster = Cluster::start(3).await;
    assert_eq!(cluster.ask(1, AdminRequest::Transfer(Some(1))).await, AdminAnswer::Node(1));
    assert_eq!(cluster.ask(1, AdminRequest::Remove(3)).await, AdminAnswer::Done);
    let expect = format!("node 3 was removed from cluster {}", cluster.id);
    let reason = ask(&cluster, &cluster.authority.member(cluster.id, 3), cluster.id).await;
    assert_eq!(reason, Err(AdminError::Gone(expect.clone())));
    let reason = within("the removed member notices", cluster.replica(3).failed()).await;
    assert!(reason.starts_with(&expect), "{reason}");
    cluster.halt(3).await;
    let fourth = cluster.join(1).await;
    assert_eq!(fourth, 4, "its number does not come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_does_not_start_with_the_certificate_of_another() {
    let mut cluster = Cluster::start(2).await;
    cluster.halt(2).await;
    let options = cluster.options(2, &cluster.authority.member(cluster.id, 1));
    let line =
        eventually("the data is free", async || match Replica::open(options.clone()).await {
            Err(ReplicaOpenError::Listen { .. }) => None,
            Err(error) => Some(error.to_string()),
            Ok(_) => panic!("it starts"),
        })
        .await;
    assert_eq!(
        line,
        format!("the peer certificate is not that of node 2 of cluster {}", cluster.id)
    );
}
