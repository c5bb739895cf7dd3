//! The kinds of the certificates group.

mod conditions;
mod request;
#[cfg(test)]
mod request_tests;
mod signer;
mod trust_bundle;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group that has one of its own.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CertificateSigningRequest" => Arc::new(request::CertificateSigningRequest),
        "ClusterTrustBundle" => Arc::new(trust_bundle::ClusterTrustBundle),
        _ => return None,
    })
}
