//! A peer authority and the certificates that it gives to members.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_raft::admin::{CertificateSigner, SigningRequest};
use quorate_raft::{ClusterId, Credentials, authority_hash, peer_names};
use quorate_store::NodeId;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What joining nodes must send as their request, so that tests see it travel.
pub(crate) const CSR: &[u8] = b"please";

/// A certificate authority.
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// What a joining node knows it by.
    pub(crate) fn hash(&self) -> [u8; 32] {
        authority_hash(&self.certificate)
    }

    /// Credentials for a member of a cluster.
    pub(crate) fn member(&self, cluster: ClusterId, node: NodeId) -> Credentials {
        self.named(&peer_names(cluster, node))
    }

    /// Credentials with these names in the certificate.
    pub(crate) fn named(&self, names: &[String]) -> Credentials {
        let (certificate, key) = self.sign(names);
        self.credentials(certificate, key)
    }

    fn sign(&self, names: &[String]) -> (Vec<u8>, Vec<u8>) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names.to_vec()).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.der().to_vec(), key.serialize_der())
    }

    fn credentials(&self, certificate: Vec<u8>, key: Vec<u8>) -> Credentials {
        Credentials {
            chain: vec![certificate.into(), self.certificate.clone()],
            key: PrivateKeyDer::try_from(key).unwrap(),
            authorities: vec![self.certificate.clone()],
        }
    }

    /// Credentials from what [`TestSigner`] answered.
    pub(crate) fn joined(&self, identity: &[u8]) -> Credentials {
        let length = u32::from_le_bytes(identity[..4].try_into().unwrap()) as usize;
        let (certificate, key) = identity[4..].split_at(length);
        self.credentials(certificate.to_vec(), key.to_vec())
    }
}

/// Signs every request that holds [`CSR`].
pub(crate) struct TestSigner {
    pub(crate) authority: Arc<Authority>,
    pub(crate) cluster: ClusterId,
}

#[async_trait]
impl CertificateSigner for TestSigner {
    async fn sign(&self, request: SigningRequest) -> Result<Bytes, String> {
        if request.csr != CSR {
            return Err("this is no certificate request".to_owned());
        }
        let (certificate, key) = self.authority.sign(&peer_names(self.cluster, request.node));
        let length = u32::try_from(certificate.len()).unwrap();
        Ok([&length.to_le_bytes()[..], &certificate, &key].concat().into())
    }

    async fn certify(&self, _: Bytes) -> Result<Bytes, String> {
        Err("this authority knows no users".to_owned())
    }

    async fn keys(&self, _: Bytes) -> Result<Bytes, String> {
        Err("this authority keeps no keys".to_owned())
    }
}
