//! The settings that the API servers of a run share: schema, resources, certificates, keys.
//!
//! Invariant: made once for a run, before the simulation begins, and never changed; so a restart of
//! a node costs nothing of it, and finds the same.

use std::error::Error;
use std::sync::Arc;

use quorate_access::authentication::token::{KeyMaterial, KeySet};
use quorate_api::server::{ServerTls, TlsFiles};
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_store::NodeId;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::broken::BrokenApi;
use crate::determinism::EPOCH_SECONDS;
use crate::topology::host_name;

/// The naming profile of simulated clusters.
pub(crate) const NAMING: Naming = Naming::Svc;
/// Members of this group may do everything.
const ADMINISTRATORS: &str = "system:masters";

/// The shared settings.
pub(crate) struct ApiPlan {
    pub(super) graph: Arc<Graph>,
    /// The certificate (PEM) of the authority of servers and clients.
    pub(super) authority: String,
    files: TlsFiles,
    issuer: Issuer<'static, KeyPair>,
    key: KeyMaterial,
    pub(super) broken: Option<BrokenApi>,
}

impl ApiPlan {
    /// For a cluster whose nodes have numbers up to this one.
    pub(crate) fn new(nodes: NodeId, broken: Option<BrokenApi>) -> Result<Self, Box<dyn Error>> {
        let graph = Arc::new(Graph::builtin(NAMING.names()));
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "simulated authority");
        let authority = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        let server_key = KeyPair::generate()?;
        let server = CertificateParams::new((1..=nodes).map(host_name).collect::<Vec<_>>())?;
        let files = TlsFiles {
            certificate: server.signed_by(&server_key, &issuer)?.pem().into_bytes(),
            key: server_key.serialize_pem().into_bytes(),
            client_authority: authority.clone().into_bytes(),
            proxy_authority: None,
        };
        let key = KeyMaterial::generate(EPOCH_SECONDS * 1000)?;
        Ok(Self { graph, authority, files, issuer, key, broken })
    }

    /// Which promise is broken on purpose.
    pub(crate) fn broken(&self) -> Option<BrokenApi> {
        self.broken
    }

    /// The TLS settings of one start of a server.
    pub(super) fn server_tls(&self) -> Result<ServerTls, String> {
        ServerTls::new(&self.files).map_err(|error| error.to_string())
    }

    /// The keys of service account tokens.
    pub(super) fn keys(&self) -> Result<KeySet, String> {
        KeySet::new(std::slice::from_ref(&self.key)).map_err(|error| error.to_string())
    }

    /// The TLS settings of an administrator who speaks this protocol.
    pub(crate) fn administrator(
        &self,
        name: &str,
        http2: bool,
    ) -> Result<Arc<ClientConfig>, Box<dyn Error>> {
        let mut params = CertificateParams::new(vec![])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, ADMINISTRATORS);
        let key = KeyPair::generate()?;
        let chain = vec![params.signed_by(&key, &self.issuer)?.der().clone()];
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, PrivateKeyDer::Pkcs8(key.serialize_der().into()))?;
        config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        Ok(Arc::new(config))
    }
}
