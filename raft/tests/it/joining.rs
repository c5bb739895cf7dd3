//! Who is let in: tokens, certificates, clusters.

use std::sync::Arc;

use bytes::Bytes;
use quorate_raft::admin::{AdminAnswer, AdminClient, AdminRequest, JoinRequest, JoinToken, join};
use quorate_raft::types::Peer;
use quorate_raft::{AdminError, ClusterId, PeerTls};
use quorate_store::Store;
use quorate_store::env::SystemEnv;

use crate::cluster::{Authority, Cluster, within};

fn request(token: JoinToken, csr: &'static str) -> JoinRequest {
    let peer = Peer { address: "127.0.0.1:1".to_owned(), api: "127.0.0.1:2".to_owned() };
    JoinRequest { token, peer, csr: Bytes::from(csr) }
}

/// Tries to join and gives the error.
async fn refused(cluster: &Cluster, node: u64, authority: [u8; 32], request: JoinRequest) -> String {
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
    let AdminAnswer::Tokens(tokens) = cluster.ask(1, AdminRequest::Tokens).await else { panic!("tokens") };
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
    let holds = |value: &[u8]| value.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(snapshot.range(b"s/tokens/", None).count() == 1);
    assert!(snapshot.range(b"", None).all(|(_, entry)| !holds(&entry.value)));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_members_of_this_cluster_are_heard() {
    let cluster = Cluster::start(1).await;
    let ask = async |authority: &Authority, id: ClusterId| {
        let tls = Arc::new(PeerTls::new(&authority.member()).unwrap());
        let network = SystemEnv::env().network;
        let mut client = AdminClient::connect(network, tls, id, cluster.address(1)).await.map_err(|e| e.to_string())?;
        within("an answer", client.ask(AdminRequest::Status)).await.map_err(|error| error.to_string())
    };
    let Ok(AdminAnswer::Status(status)) = ask(&cluster.authority, cluster.id).await else { panic!("a status") };
    assert_eq!((status.cluster, status.store.leader, status.members.len()), (cluster.id, Some(1), 1));
    let other = ClusterId::new([1; 16]);
    let reason = ask(&cluster.authority, other).await.unwrap_err();
    let expect = format!("this is cluster {}, the caller is of cluster {other}", cluster.id);
    assert_eq!(reason, expect);
    let reason = ask(&Authority::new(), cluster.id).await.unwrap_err();
    assert!(reason.contains("invalid peer certificate"), "{reason}");
}
