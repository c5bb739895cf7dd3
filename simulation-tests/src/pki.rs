//! The peer authority of a simulated cluster. Keys come from interposed randomness, so they repeat
//! with the seed.

use async_trait::async_trait;
use bytes::Bytes;
use quorate_raft::admin::{CertificateSigner, SigningRequest};
use quorate_raft::{ClusterId, Credentials, peer_names};
use quorate_store::NodeId;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Issues the certificates of members.
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub(crate) fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Credentials for a member.
    pub(crate) fn member(
        &self,
        cluster: ClusterId,
        node: NodeId,
    ) -> Result<Credentials, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(peer_names(cluster, node))?;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Credentials {
            chain: vec![certificate.der().clone(), self.certificate.clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            authorities: vec![self.certificate.clone()],
        })
    }
}

/// Signs nothing: no node joins yet.
pub(crate) struct NoSigner;

#[async_trait]
impl CertificateSigner for NoSigner {
    async fn sign(&self, _: SigningRequest) -> Result<Bytes, String> {
        Err("no node joins a simulated cluster by token".to_owned())
    }

    async fn certify(&self, _: Bytes) -> Result<Bytes, String> {
        Err("a simulated cluster knows no users".to_owned())
    }

    async fn keys(&self, _: Bytes) -> Result<Bytes, String> {
        Err("a simulated cluster keeps no keys".to_owned())
    }
}
