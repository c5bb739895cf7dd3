//! The server's certificate and the CA of its clients, replaceable while connections are open.
//!
//! Invariants: TLS 1.2 and 1.3 with ring; a client certificate is optional, but one that does not verify against the
//! client CA ends the handshake. A replacement counts for new connections only.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;

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
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsFiles(..)")
    }
}

/// The configuration that new connections get.
#[derive(Debug)]
pub struct ServerTls {
    current: ArcSwap<ServerConfig>,
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

    pub(super) fn current(&self) -> Arc<ServerConfig> {
        self.current.load_full()
    }
}

fn configuration(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificates(&files.certificate, "server certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|e| problem("server key", e))?;
    let mut roots = RootCertStore::empty();
    for authority in certificates(&files.client_authority, "client CA")? {
        roots.add(authority).map_err(|e| problem("client CA", e))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|e| problem("client CA", e))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|e| problem("TLS", e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|e| problem("server certificate", e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
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
