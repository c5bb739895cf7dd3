//! Peer identity: which node of which cluster a peer certificate belongs to, by a DNS name of its
//! own beside the common one.
//!
//! Invariant: only certificates that the TLS layer has verified are looked at; a certificate
//! without such a name belongs to no node.

use quorate_store::NodeId;
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::cluster::ClusterId;

/// The DNS name that the subject alternative names of every peer certificate hold.
pub const PEER_NAME: &str = "peer.quorate";

/// A node of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PeerIdentity {
    pub(crate) cluster: ClusterId,
    pub(crate) node: NodeId,
}

/// The DNS names that the certificate of this node among nodes must hold: the one that all nodes of
/// all clusters have, by which they are dialed, and its own.
#[must_use]
pub fn peer_names(cluster: ClusterId, node: NodeId) -> [String; 2] {
    [PEER_NAME.to_owned(), format!("node-{node}.{cluster}.{PEER_NAME}")]
}

impl PeerIdentity {
    /// The node that this certificate belongs to.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let names = certificate.subject_alternative_name().ok()??;
        names.value.general_names.iter().find_map(|name| match name {
            GeneralName::DNSName(name) => Self::parse(name),
            _ => None,
        })
    }

    fn parse(name: &str) -> Option<Self> {
        let (node, cluster) = name.strip_suffix(PEER_NAME)?.strip_suffix('.')?.split_once('.')?;
        let number = node.strip_prefix("node-")?;
        let node: NodeId =
            number.parse().ok().filter(|node: &NodeId| node.to_string() == number)?;
        Some(Self { cluster: cluster.parse().ok()?, node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: ClusterId = ClusterId::new([0xab; 16]);

    #[test]
    fn a_certificate_says_whose_it_is() {
        let check = |names: &[String], expect: Option<NodeId>| {
            let key = rcgen::KeyPair::generate().expect("keys can be made");
            let params =
                rcgen::CertificateParams::new(names.to_vec()).expect("the names are DNS names");
            let certificate = params.self_signed(&key).expect("it can sign itself");
            let found = PeerIdentity::of(certificate.der());
            assert_eq!(
                found,
                expect.map(|node| PeerIdentity { cluster: CLUSTER, node }),
                "{names:?}"
            );
        };
        check(&peer_names(CLUSTER, 12), Some(12));
        check(&[PEER_NAME.to_owned()], None);
        let wrong = |name: String| check(&[PEER_NAME.to_owned(), name], None);
        wrong(format!("node-012.{CLUSTER}.{PEER_NAME}"));
        wrong(format!("node-+1.{CLUSTER}.{PEER_NAME}"));
        wrong(format!("node-1.{PEER_NAME}"));
        wrong(format!("node-1.{CLUSTER}.example.org"));
        wrong(format!("node-1.x.{CLUSTER}.{PEER_NAME}"));
    }
}
