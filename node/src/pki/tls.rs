//! TLS settings of a node and of this program as a client, made from what lies in a data folder.
//!
//! Invariant: ring is the provider. What the two ports accept is decided by the crates that own them; this file reads
//! the files and hands them over.

use std::path::Path;
use std::sync::Arc;

use quorate_api::server::TlsFiles;
use quorate_raft::Credentials;
use rustls::ClientConfig;

use super::identity::certificates;
use super::server_verifier::ServerVerifier;
use super::{Identity, names};
use crate::error::Error;
use crate::files::read_text;

/// What the API port shows and whom it believes; `proxies` is the file with the authority of proxies in front.
pub(crate) fn server_files(pki: &Path, proxies: Option<&Path>) -> Result<TlsFiles, Error> {
    let Identity { certificate, key } = Identity::read(pki, names::SERVER)?;
    let mut client_authority = read_text(&pki.join(names::AUTHORITY_CERTIFICATE))?.into_bytes();
    // Not there before the cluster has run for the first time.
    let signer = pki.join(names::SIGNER_AUTHORITY_CERTIFICATE);
    if signer.exists() {
        client_authority.extend_from_slice(read_text(&signer)?.as_bytes());
    }
    let proxy_authority = proxies.map(|file| read_text(file).map(String::into_bytes)).transpose()?;
    Ok(TlsFiles { certificate: certificate.into_bytes(), key: key.into_bytes(), client_authority, proxy_authority })
}

/// What nodes show each other and whom they believe. The authority is shown too: a joining node knows only its hash.
pub(crate) fn peer_credentials(pki: &Path) -> Result<Credentials, Error> {
    let identity = Identity::read(pki, names::PEER)?;
    let authorities = certificates(&read_text(&pki.join(names::PEER_AUTHORITY_CERTIFICATE))?)?;
    let mut chain = identity.chain()?;
    chain.extend(authorities.iter().cloned());
    Ok(Credentials { chain, key: identity.private_key()?, authorities })
}

/// How a client of the API proves who it is and whom it believes. `protocols` are offered in this order.
pub(crate) fn client_config(
    authority: &str,
    identity: Option<&Identity>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = ServerVerifier::new(certificates(authority)?, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => config
            .with_client_auth_cert(identity.chain()?, identity.private_key()?)
            .map_err(|error| Error::config(format_args!("client certificate: {error}")))?,
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}
