//! The kinds of the certificates group.
//!
//! Signing is done by controllers, not here.

mod certificate_signing_request;
mod cluster_trust_bundle;
mod conditions;
pub(crate) mod signer;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CertificateSigningRequest" => {
            Arc::new(certificate_signing_request::CertificateSigningRequest)
        }
        "ClusterTrustBundle" => Arc::new(cluster_trust_bundle::ClusterTrustBundle),
        _ => return None,
    })
}
