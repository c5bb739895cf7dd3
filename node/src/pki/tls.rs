//! TLS settings of a node's ports and of this program as a client, read from a data folder.
//!
//! Invariant: ring is the provider. What the two ports accept is decided by the crates that own
//! them; this file reads the files and hands them over.

use std::path::Path;
use std::sync::Arc;

use quorate_api::server::TlsFiles;
use quorate_env::SystemEnv;
use quorate_raft::Credentials;
use quorate_webhook::{ServerVerifier, client_tls};
use rustls::ClientConfig;

use super::identity::certificates;
use super::{Identity, names};
use crate::error::Error;
use crate::files::read_text;

/// The certificates of the API port, and the authorities that it trusts; `proxies` is the file with
/// the authority of authenticating proxies.
pub(crate) fn server_files(pki: &Path, proxies: Option<&Path>) -> Result<TlsFiles, Error> {
    let Identity { certificate, key } = Identity::read(pki, names::SERVER)?;
    let mut client_authority = read_text(&pki.join(names::AUTHORITY_CERTIFICATE))?.into_bytes();
    // Not there before the cluster has run for the first time.
    let signer = pki.join(names::SIGNER_AUTHORITY_CERTIFICATE);
    if signer.exists() {
        client_authority.extend_from_slice(read_text(&signer)?.as_bytes());
    }
    let proxy_authority =
        proxies.map(|file| read_text(file).map(String::into_bytes)).transpose()?;
    Ok(TlsFiles {
        certificate: certificate.into_bytes(),
        key: key.into_bytes(),
        client_authority,
        proxy_authority,
    })
}

/// The certificates of the peer port. The authority is sent with the chain: a joining node knows
/// only its hash.
pub(crate) fn peer_credentials(pki: &Path) -> Result<Credentials, Error> {
    let identity = Identity::read(pki, names::PEER)?;
    let authorities = certificates(&read_text(&pki.join(names::PEER_AUTHORITY_CERTIFICATE))?)?;
    let mut chain = identity.chain()?;
    chain.extend(authorities.iter().cloned());
    Ok(Credentials { chain, key: identity.private_key()?, authorities })
}

/// TLS settings of a client of the API: its certificate and the authority that it trusts.
/// `protocols` are offered in this order.
pub(crate) fn client_config(
    authority: &str,
    identity: Option<&Identity>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, Error> {
    let verifier = ServerVerifier::new(certificates(authority)?).map_err(Error::config)?;
    let shown =
        identity.map(|identity| Ok::<_, Error>((identity.chain()?, identity.private_key()?)));
    client_tls(verifier, shown.transpose()?, protocols, Arc::new(SystemEnv)).map_err(Error::config)
}
