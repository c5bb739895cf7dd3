//! Authentication of peer calls: the cluster id and the protocol's version in headers, and a peer
//! certificate.
//!
//! Invariants: no call but *join* is served without both, and without the certificate being of a
//! node of this cluster that was not removed; a node speaks for itself only. So a node of another
//! cluster that came by an address of this one (a copied configuration, a reused machine) can
//! neither vote nor replicate here.

use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Code, Request, Status};

use quorate_store::NodeId;

use super::identity::PeerIdentity;
use super::protocol;
use super::stream::PeerInfo;
use crate::cluster::ClusterId;

/// The header that carries the cluster's identity.
const CLUSTER_HEADER: &str = "quorate-cluster";

/// The header of a refusal after which the caller cannot go on: its cluster was given up, or it was
/// removed.
const GONE_HEADER: &str = "quorate-gone";

/// Puts the cluster's identity and the protocol's version on every outgoing call.
#[derive(Debug, Clone)]
pub(crate) struct ClusterHeader {
    cluster: Option<MetadataValue<Ascii>>,
    protocols: MetadataValue<Ascii>,
}

impl ClusterHeader {
    /// For the calls of a member of this cluster, or of a node that is none yet.
    pub(crate) fn new(cluster: Option<ClusterId>) -> Self {
        let value = |id: ClusterId| {
            id.to_string().parse().expect("hexadecimal digits are a metadata value")
        };
        Self { cluster: cluster.map(value), protocols: protocol::header_value() }
    }
}

impl Interceptor for ClusterHeader {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(cluster) = &self.cluster {
            request.metadata_mut().insert(CLUSTER_HEADER, cluster.clone());
        }
        protocol::announce(request.metadata_mut(), &self.protocols);
        Ok(request)
    }
}

/// What the accepting node knows about clusters and members.
pub(crate) trait PeerPolicy {
    /// The cluster that it is of.
    fn cluster(&self) -> ClusterId;
    /// The cluster that took the place of this one, which had lost its quorum.
    fn successor(&self, old: ClusterId) -> Option<String>;
    /// Whether this node was a member and was removed.
    fn has_left(&self, node: NodeId) -> bool;
}

/// The calling node. Refuses a call that does not come from a member of this cluster.
pub(crate) fn admit<T>(policy: &impl PeerPolicy, request: &Request<T>) -> Result<NodeId, Status> {
    let info = request.extensions().get::<PeerInfo>();
    let claimed = request.metadata().get(CLUSTER_HEADER).and_then(|value| value.to_str().ok());
    let authenticated = authenticate(policy, info, claimed.and_then(|text| text.parse().ok()));
    let understood = |node| protocol::check(request.metadata()).map(|()| node);
    authenticated.and_then(understood).inspect_err(|refusal| {
        let peer = info.map(|info| info.address.as_str());
        tracing::warn!(peer, reason = refusal.message(), "refused a peer's call");
    })
}

fn authenticate(
    policy: &impl PeerPolicy,
    info: Option<&PeerInfo>,
    claimed: Option<ClusterId>,
) -> Result<NodeId, Status> {
    let cluster = policy.cluster();
    let Some(info) = info.filter(|info| info.authenticated) else {
        return Err(Status::unauthenticated("a peer certificate of this cluster is required"));
    };
    let Some(claimed) = claimed else {
        return Err(Status::failed_precondition("the caller does not say which cluster it is of"));
    };
    if claimed != cluster {
        return Err(match policy.successor(claimed) {
            Some(new) => gone(format!(
                "cluster {claimed} had lost its quorum and was given up for cluster {new}"
            )),
            None => Status::failed_precondition(format!(
                "this is cluster {cluster}, the caller is of cluster {claimed}"
            )),
        });
    }
    match info.identity {
        Some(PeerIdentity { cluster: issued, node }) if issued == cluster => {
            match policy.has_left(node) {
                false => Ok(node),
                true => Err(gone(format!("node {node} was removed from cluster {cluster}"))),
            }
        }
        Some(PeerIdentity { cluster: issued, .. }) => Err(Status::failed_precondition(format!(
            "this is cluster {cluster}, the caller's certificate is of cluster {issued}"
        ))),
        None => Err(Status::failed_precondition(
            "the caller's certificate does not say which node it is of",
        )),
    }
}

/// Refuses a caller that speaks for another node.
pub(crate) fn speaks_for(caller: NodeId, node: NodeId) -> Result<(), Status> {
    if caller == node {
        return Ok(());
    }
    tracing::warn!(caller, node, "refused a peer that speaks for another one");
    Err(Status::permission_denied(format!(
        "the caller is node {caller} and speaks for node {node}"
    )))
}

/// Whether a refusal says that the caller is no member any more.
pub(crate) fn is_gone(refusal: &Status) -> bool {
    refusal.metadata().contains_key(GONE_HEADER)
}

fn gone(message: String) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(GONE_HEADER, MetadataValue::from_static("true"));
    Status::with_metadata(Code::FailedPrecondition, message, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: ClusterId = ClusterId::new([1; 16]);
    const OLD: ClusterId = ClusterId::new([2; 16]);
    const OTHER: ClusterId = ClusterId::new([3; 16]);

    /// Node 7 has left; the old cluster was given up.
    struct FixedPolicy;

    impl PeerPolicy for FixedPolicy {
        fn cluster(&self) -> ClusterId {
            OURS
        }

        fn successor(&self, old: ClusterId) -> Option<String> {
            (old == OLD).then(|| "ours".to_owned())
        }

        fn has_left(&self, node: NodeId) -> bool {
            node == 7
        }
    }

    fn check(
        certificate: Option<Option<(ClusterId, NodeId)>>,
        claimed: Option<ClusterId>,
        expect: Result<NodeId, &str>,
    ) {
        let info = PeerInfo {
            authenticated: certificate.is_some(),
            identity: certificate.flatten().map(|(cluster, node)| PeerIdentity { cluster, node }),
            address: String::new(),
        };
        match (authenticate(&FixedPolicy, Some(&info), claimed), expect) {
            (Ok(node), Ok(expect)) => assert_eq!(node, expect),
            (Err(refusal), Err(expect)) => {
                assert!(refusal.message().contains(expect), "{refusal}");
                assert_eq!(is_gone(&refusal), expect.contains("was "), "{refusal}");
            }
            (found, _) => panic!("{certificate:?} {claimed:?}: {found:?}"),
        }
    }

    #[test]
    fn only_members_of_this_cluster_are_let_in() {
        let node = |number| Some(Some((OURS, number)));
        check(node(3), Some(OURS), Ok(3));
        check(None, Some(OURS), Err("a peer certificate of this cluster is required"));
        check(Some(None), Some(OURS), Err("does not say which node"));
        check(node(3), None, Err("does not say which cluster"));
        check(node(3), Some(OTHER), Err("the caller is of cluster 03"));
        check(node(3), Some(OLD), Err("was given up for cluster ours"));
        check(Some(Some((OTHER, 3))), Some(OURS), Err("certificate is of cluster 03"));
        check(node(7), Some(OURS), Err("node 7 was removed"));
        assert!(authenticate(&FixedPolicy, None, Some(OURS)).is_err());
    }

    #[test]
    fn a_node_speaks_for_itself_only() {
        assert!(speaks_for(3, 3).is_ok());
        assert_eq!(speaks_for(3, 4).expect_err("refused").code(), Code::PermissionDenied);
    }
}
