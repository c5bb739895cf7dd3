//! The server's certificate and the CA of its clients, replaceable while connections are open.
//!
//! Invariants: TLS 1.2 and 1.3 with ring; a client certificate is optional, and a client that shows
//! one has its key. A handshake takes any certificate, because a client with one of an unknown CA
//! gets a 401 like every unknown user, or may have a token; so does one whose certificate has
//! extensions that are not known here. The certificate is verified right after, by the CA of clients
//! and that of proxies, and the latter makes no client of anyone; a certificate that is itself one
//! of these CAs needs no other (`is_trust_anchor`). A replacement counts for new connections only,
//! and each of those verifies its client.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use quorate_meta::Names;
use quorate_webhook::{Purpose, is_trust_anchor};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer,
    UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig,
    SignatureScheme,
};
use thiserror::Error;

use quorate_access::authentication::{ConnectionIdentity, public_key};

/// Why certificates cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TlsError(String);

/// PEM texts.
#[derive(Clone)]
pub struct TlsFiles {
    /// The server's chain, leaf first.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
    /// The CAs of client certificates.
    pub client_authority: Vec<u8>,
    /// The CAs of proxies in front that name their clients in headers; `None` where there are none.
    pub proxy_authority: Option<Vec<u8>>,
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsFiles(..)")
    }
}

/// The configuration that new connections get.
#[derive(Debug)]
pub struct ServerTls {
    current: ArcSwap<Current>,
}

/// What a connection begins with and keeps.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) config: Arc<ServerConfig>,
    clients: Authorities,
    proxies: Option<Authorities>,
}

/// The CAs of clients, or of proxies.
#[derive(Debug)]
struct Authorities {
    certificates: Vec<CertificateDer<'static>>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    fn know(&self, leaf: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> bool {
        let now = UnixTime::now();
        match self.verifier.verify_client_cert(leaf, others, now) {
            Ok(_) => true,
            Err(_) if is_trust_anchor(&self.certificates, leaf, now, Purpose::Client) => true,
            Err(error) => {
                tracing::debug!(%error, "a client's certificate does not verify");
                false
            }
        }
    }
}

impl Current {
    /// The identity of the peer, by the chain that it showed, and until when that holds.
    pub(super) fn identify(
        &self,
        names: &Names,
        chain: &[CertificateDer<'_>],
        now_ms: u64,
    ) -> ConnectionIdentity {
        let Some((leaf, others)) = chain.split_first() else {
            return ConnectionIdentity::default();
        };
        let is_of = |authorities: &Authorities| authorities.know(leaf, others);
        let (is_client, is_proxy) =
            (is_of(&self.clients), self.proxies.as_ref().is_some_and(is_of));
        if !is_client && !is_proxy {
            return ConnectionIdentity::of_unknown_certificate();
        }
        let identity = if is_client {
            ConnectionIdentity::of_certificate(names, leaf)
        } else {
            ConnectionIdentity::default()
        };
        let identity = if is_proxy { identity.with_proxy(leaf) } else { identity };
        identity.until_end_of(leaf, others, now_ms)
    }
}

/// Takes every certificate whose key the client has; [`Current::identify`] verifies it afterwards.
#[derive(Debug)]
struct AnyClient {
    /// Checks signatures, and names the CAs whose certificates are asked for.
    known: Arc<dyn ClientCertVerifier>,
    /// What signatures are checked with by the key alone, where a certificate cannot be read.
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClient {
    /// Verifies a signature of TLS 1.2 by the key of a certificate, whatever else that has.
    fn verify_by_key(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let (_, bits) = public_key(leaf).ok_or(CertificateError::BadEncoding)?;
        let mut mapping = self.algorithms.mapping.iter();
        let found = mapping.find(|(scheme, _)| *scheme == signature.scheme);
        let mut algorithms = found.map_or(&[][..], |(_, algorithms)| algorithms).iter();
        let fits = |algorithm: &dyn SignatureVerificationAlgorithm| {
            algorithm.verify_signature(bits, message, signature.signature()).is_ok()
        };
        match algorithms.any(|algorithm| fits(*algorithm)) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(CertificateError::BadSignature.into()),
        }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.known.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.known
            .verify_tls12_signature(message, leaf, signature)
            .or_else(|_| self.verify_by_key(message, leaf, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.known.verify_tls13_signature(message, leaf, signature).or_else(|_| {
            let (key, _) = public_key(leaf).ok_or(CertificateError::BadEncoding)?;
            let key = SubjectPublicKeyInfoDer::from(key);
            verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_verify_schemes()
    }
}

impl ServerTls {
    /// Reads the PEM texts.
    pub fn new(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self { current: ArcSwap::from(configuration(files)?) })
    }

    /// Takes other certificates for the connections to come; on an error the old ones stay.
    pub fn replace(&self, files: &TlsFiles) -> Result<(), TlsError> {
        self.current.store(configuration(files)?);
        Ok(())
    }

    pub(super) fn current(&self) -> Arc<Current> {
        self.current.load_full()
    }
}

fn configuration(files: &TlsFiles) -> Result<Arc<Current>, TlsError> {
    let chain = certificates(&files.certificate, "server certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|e| problem("server key", e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = authorities(&files.client_authority, "client CA", &provider)?;
    let proxies = files
        .proxy_authority
        .as_ref()
        .map(|pem| authorities(pem, "proxy CA", &provider))
        .transpose()?;
    let of_proxies = proxies.iter().flat_map(|proxies| &proxies.certificates);
    let known = verifier(clients.certificates.iter().chain(of_proxies), "client CA", &provider)?;
    let algorithms = provider.signature_verification_algorithms;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|e| problem("TLS", e))?
        .with_client_cert_verifier(Arc::new(AnyClient { known, algorithms }))
        .with_single_cert(chain, key)
        .map_err(|e| problem("server certificate", e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A session that is resumed takes over the client's chain from the one before, without
    // verifying it again.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(Current { config: Arc::new(config), clients, proxies }))
}

fn authorities(
    pem: &[u8],
    what: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Authorities, TlsError> {
    let certificates = certificates(pem, what)?;
    let verifier = verifier(&certificates, what, provider)?;
    Ok(Authorities { certificates, verifier })
}

fn verifier<'a>(
    authorities: impl IntoIterator<Item = &'a CertificateDer<'static>>,
    what: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone()).map_err(|e| problem(what, e))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
    builder.allow_unauthenticated().build().map_err(|e| problem(what, e))
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => Err(problem(what, "no certificate in the PEM text")),
        Ok(found) => Ok(found),
        Err(e) => Err(problem(what, e)),
    }
}

fn problem(what: &str, error: impl fmt::Display) -> TlsError {
    TlsError(format!("{what}: {error}"))
}
