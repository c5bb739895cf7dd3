//! The certificates of a node while it runs: its own are renewed before they expire, and its own and those of authorities are
//! read again when their files change.
//!
//! Invariants: a certificate that cannot be used never replaces one that can; open connections live on with what they began
//! with. Renewal needs the authorities in the store and waits for them.

use std::sync::Arc;

use quorate_store::Store;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Parts;
use crate::error::Error;
use crate::pki::{self, Identity, Subject, names, vault};
use crate::setup::{now, server_names};
use crate::watched::{Looks, Seen, files_of};

/// A certificate is renewed when less than this part of its life is left.
const RENEW_AT: i64 = 3;

/// Looks after the certificates for as long as the node runs.
pub(super) async fn run(parts: Arc<Parts>, store: Arc<dyn Store>) {
    let mut looks = match Looks::new() {
        Ok(looks) => looks,
        Err(error) => {
            tracing::error!(%error, "certificates are not reloaded: cannot listen for SIGHUP");
            return;
        }
    };
    let mut seen = look(&parts);
    loop {
        looks.next().await;
        if let Err(error) = renew(&parts, &*store) {
            tracing::warn!(%error, "cannot renew the node's certificates");
        }
        let current = look(&parts);
        if current == seen {
            continue;
        }
        match reload(&parts) {
            Ok(()) => {
                tracing::info!("certificates were reloaded");
                seen = current;
            }
            Err(error) => tracing::warn!(%error, "the changed certificates cannot be used; the old ones stay"),
        }
    }
}

/// Reads the files again and uses them from now on.
pub(super) fn reload(parts: &Parts) -> Result<(), Error> {
    let folder = parts.dir.pki();
    let (server, peer) = (pki::server_files(&folder, parts.proxies.as_deref())?, pki::peer_credentials(&folder)?);
    parts.server_tls.replace(&server).map_err(Error::config)?;
    parts.peer_tls.reload(&peer).map_err(Error::config)
}

fn look(parts: &Parts) -> Seen {
    Seen::of(files_of(&parts.dir.pki()).into_iter().chain(parts.proxies.clone()))
}

fn renew(parts: &Parts, store: &dyn Store) -> Result<(), Error> {
    let config = &parts.config;
    let server = Subject::Server { names: server_names(config.naming, &config.api.advertise) };
    renew_one(parts, store, (names::SERVER, names::AUTHORITY), &server)?;
    renew_one(
        parts,
        store,
        (names::PEER, names::PEER_AUTHORITY),
        &Subject::Peer { cluster: config.cluster, node: config.node },
    )
}

fn renew_one(
    parts: &Parts,
    store: &dyn Store,
    (name, authority): (&str, &str),
    subject: &Subject,
) -> Result<(), Error> {
    let folder = parts.dir.pki();
    let chain = Identity::read(&folder, name)?.chain()?;
    let now = now(&parts.env);
    if !is_due(&chain[0], now.unix_timestamp())? {
        return Ok(());
    }
    vault::authority(store, &parts.secret, authority)?.issue(subject, now)?.write(&folder, name)?;
    tracing::info!(name, "certificate was renewed");
    Ok(())
}

fn is_due(certificate: &[u8], now: i64) -> Result<bool, Error> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(Error::config)?;
    let validity = certificate.validity();
    let (start, end) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    Ok(now > end - (end - start) / RENEW_AT)
}

#[cfg(test)]
mod tests {
    use quorate_raft::ClusterId;
    use time::OffsetDateTime;

    use super::*;
    use crate::pki::Authority;

    #[test]
    fn a_certificate_is_due_in_the_last_third_of_its_life() {
        let authority = Authority::generate("test-ca", OffsetDateTime::UNIX_EPOCH).unwrap();
        let issued = authority
            .issue(&Subject::Peer { cluster: ClusterId::new([7; 16]), node: 1 }, OffsetDateTime::UNIX_EPOCH)
            .unwrap();
        let chain = issued.chain().unwrap();
        let day = |days: i64| days * 24 * 3600;
        assert!(!is_due(&chain[0], day(240)).unwrap());
        assert!(is_due(&chain[0], day(250)).unwrap());
        assert!(is_due(&chain[0], day(400)).unwrap());
    }
}
