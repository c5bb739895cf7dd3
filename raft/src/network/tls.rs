//! Peer TLS: version 1.3 between members, each proving itself with a certificate of the cluster's
//! peer authority.
//!
//! Invariants: only the peer authority is trusted, on both sides (a client certificate of the API
//! is no peer, and the other way round); the name in every peer certificate is
//! [`PEER_NAME`](super::PEER_NAME), so members may change addresses; a server lets clients without
//! a certificate in, marked as such, and the service refuses them everything but *join*. Where
//! certificates come from and when they are read again is the node's business.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use sha2::{Digest, Sha256};

use quorate_store::NodeId;

use super::identity::PeerIdentity;
use crate::cluster::ClusterId;

const ALPN_HTTP2: &[u8] = b"h2";

/// A member's certificate and key, and the authorities that it trusts.
#[derive(Debug)]
pub struct Credentials {
    /// This member's certificate, then the authorities up to and including the peer authority
    /// itself (a joining node knows that one only by its hash, so it must be sent).
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key of the first certificate.
    pub key: PrivateKeyDer<'static>,
    /// The peer authorities that are trusted: one, or two while it is being replaced.
    pub authorities: Vec<CertificateDer<'static>>,
}

/// A certificate, key or authority that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("peer certificates: {0}")]
pub struct TlsError(String);

impl TlsError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The TLS settings of a member. New connections use what [`PeerTls::reload`] set last; open ones
/// live on.
#[derive(Debug)]
pub struct PeerTls {
    current: ArcSwap<Configs>,
}

#[derive(Debug)]
struct Configs {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    identity: Option<PeerIdentity>,
}

impl PeerTls {
    /// Settings from the first credentials.
    pub fn new(credentials: &Credentials) -> Result<Self, TlsError> {
        Ok(Self { current: ArcSwap::from_pointee(configs(credentials)?) })
    }

    /// Replaces the credentials for all connections made from now on. On an error nothing changes.
    pub fn reload(&self, credentials: &Credentials) -> Result<(), TlsError> {
        let configs = configs(credentials)?;
        let (found, expected) = (configs.identity, self.current.load().identity);
        if found != expected {
            return Err(TlsError::new("the new certificate is of another node or cluster"));
        }
        self.current.store(Arc::new(configs));
        Ok(())
    }

    /// Whether the certificate is of this node of this cluster.
    pub(crate) fn is_of(&self, cluster: ClusterId, node: NodeId) -> bool {
        self.current.load().identity == Some(PeerIdentity { cluster, node })
    }

    /// For accepting connections of members and of joining nodes.
    #[must_use]
    pub fn server(&self) -> Arc<ServerConfig> {
        self.current.load().server.clone()
    }

    /// For connecting to members.
    #[must_use]
    pub fn client(&self) -> Arc<ClientConfig> {
        self.current.load().client.clone()
    }
}

/// The fingerprint by which a joining node knows the peer authority: SHA-256 over its DER form.
#[must_use]
pub fn authority_hash(authority: &CertificateDer<'_>) -> [u8; 32] {
    Sha256::digest(authority.as_ref()).into()
}

/// For a node that has no certificate yet: proves nothing and trusts the authority with this hash,
/// which the server must send along.
pub(crate) fn joining_client(hash: [u8; 32]) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(PinnedAuthority { hash, provider: provider.clone() });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(TlsError::new)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    Ok(Arc::new(config))
}

fn configs(credentials: &Credentials) -> Result<Configs, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in &credentials.authorities {
        roots.add(authority.clone()).map_err(TlsError::new)?;
    }
    let roots = Arc::new(roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(TlsError::new)?;
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(TlsError::new)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(credentials.chain.clone(), credentials.key.clone_key())
        .map_err(TlsError::new)?;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(TlsError::new)?
        .with_root_certificates(roots)
        .with_client_auth_cert(credentials.chain.clone(), credentials.key.clone_key())
        .map_err(TlsError::new)?;
    server.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    client.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    let identity = credentials.chain.first().and_then(PeerIdentity::of);
    Ok(Configs { server: Arc::new(server), client: Arc::new(client), identity })
}

/// Trusts a server whose certificate was issued by the one authority with a known hash.
#[derive(Debug)]
struct PinnedAuthority {
    hash: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let authority = intermediates
            .iter()
            .find(|certificate| authority_hash(certificate) == self.hash)
            .ok_or_else(|| {
                rustls::Error::General(
                    "the server is not of the cluster that the token names".into(),
                )
            })?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        rustls::client::WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            self.provider.clone(),
        )
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?
        .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken between peers".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
