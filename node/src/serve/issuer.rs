//! The authority of the well-known signers: made once for a cluster, in the store like the others, believed by every node.
//!
//! Invariants: nothing but certificates for requests is signed with it; a node keeps a copy of its certificate beside its own,
//! so that it believes it from its start on.

use std::sync::Arc;
use std::time::Duration;

use quorate_api::controllers::certificates::{Issuer, NotIssued, Order};
use quorate_store::Store;

use super::{Parts, certificates};
use crate::error::Error;
use crate::pki::issue::{SERIAL_BYTES, issue};
use crate::pki::{Authority, names, vault, write_public};
use crate::setup::now;

/// How long to wait before trying again.
const RETRY: Duration = Duration::from_millis(200);
/// What the authority calls itself.
const COMMON_NAME: &str = "quorate-signer-ca";

/// Issues with the authority in the store.
pub(super) struct StoreIssuer {
    pub(super) parts: Arc<Parts>,
    pub(super) store: Arc<dyn Store>,
}

impl std::fmt::Debug for StoreIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreIssuer")
    }
}

impl Issuer for StoreIssuer {
    fn issue(&self, order: &Order<'_>) -> Result<String, NotIssued> {
        let Parts { secret, env, .. } = &*self.parts;
        let authority = vault::authority(&*self.store, secret, names::SIGNER_AUTHORITY)
            .map_err(|error| NotIssued::Unavailable(error.to_string()))?;
        let mut serial = [0; SERIAL_BYTES];
        env.entropy.fill(&mut serial);
        issue(authority.identity(), order, serial, now(env)).map_err(|error| NotIssued::Refused(error.to_string()))
    }
}

/// Makes the authority unless the cluster has it, and believes it: returns once the clients that it certified are let in.
pub(super) async fn establish(parts: Arc<Parts>, store: Arc<dyn Store>) {
    while let Err(error) = establish_once(&parts, &*store).await {
        tracing::debug!(%error, "the authority of the signers is not there yet");
        tokio::time::sleep(RETRY).await;
    }
}

async fn establish_once(parts: &Parts, store: &dyn Store) -> Result<(), Error> {
    let Parts { secret, env, dir, .. } = parts;
    store.read_index().await.map_err(Error::failed)?;
    if vault::authority(store, secret, names::SIGNER_AUTHORITY).is_err() {
        let authority = Authority::generate(COMMON_NAME, now(env))?;
        vault::publish(store, secret, &*env.entropy, names::SIGNER_AUTHORITY, &authority).await?;
    }
    store.read_index().await.map_err(Error::failed)?;
    let authority = vault::authority(store, secret, names::SIGNER_AUTHORITY)?;
    let path = dir.pki().join(names::SIGNER_AUTHORITY_CERTIFICATE);
    let certificate = authority.identity().certificate.as_bytes();
    if std::fs::read(&path).is_ok_and(|known| known == certificate) {
        return Ok(());
    }
    write_public(&path, certificate)?;
    certificates::reload(parts)
}
