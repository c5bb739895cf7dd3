//! What every call says about itself and what the other end insists on: the cluster's identity, and a peer certificate.
//!
//! Invariant: no call but *join* is served without both, so a node of another cluster that came by an address of this one
//! (a copied configuration, a reused machine) can neither vote nor replicate here.

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use super::stream::PeerInfo;
use crate::ClusterId;

/// The header that carries the cluster's identity.
const CLUSTER_HEADER: &str = "quorate-cluster";

/// Puts the cluster's identity on every outgoing call.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    cluster: Option<MetadataValue<Ascii>>,
}

impl Stamp {
    /// For the calls of a member of this cluster, or of a node that is none yet.
    pub(crate) fn new(cluster: Option<ClusterId>) -> Self {
        let value = |id: ClusterId| id.to_string().parse().expect("hexadecimal digits are a metadata value");
        Self { cluster: cluster.map(value) }
    }
}

impl Interceptor for Stamp {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(cluster) = &self.cluster {
            request.metadata_mut().insert(CLUSTER_HEADER, cluster.clone());
        }
        Ok(request)
    }
}

/// Refuses a call that does not come from a member of this cluster.
pub(crate) fn admit<T>(cluster: ClusterId, request: &Request<T>) -> Result<(), Status> {
    let info = request.extensions().get::<PeerInfo>();
    let claimed = request.metadata().get(CLUSTER_HEADER).and_then(|value| value.to_str().ok());
    let refusal = match claimed.and_then(|text| text.parse::<ClusterId>().ok()) {
        _ if !info.is_some_and(|info| info.authenticated) => {
            Status::unauthenticated("a peer certificate of this cluster is required")
        }
        Some(id) if id == cluster => return Ok(()),
        Some(id) => Status::failed_precondition(format!("this is cluster {cluster}, the caller is of cluster {id}")),
        None => Status::failed_precondition("the caller does not say which cluster it is of"),
    };
    let peer = info.map(|info| info.address.as_str());
    tracing::warn!(peer, reason = refusal.message(), "refused a peer's call");
    Err(refusal)
}
