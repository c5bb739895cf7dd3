//! The certificates of a node while it runs: its own are renewed before they expire, and its own
//! and those of authorities are read again when their files change.
//!
//! Invariants: a certificate that cannot be used never replaces one that can; one that another
//! authority has issued is not renewed; open connections keep the certificates that they began
//! with. Renewal needs the authorities in the store and waits for them.

use std::sync::Arc;

use quorate_store::Store;

use super::Parts;
use super::certificate_ends::EndWarnings;
use crate::error::Error;
use crate::file_watch::{CheckTimer, FileStamps, files_of};
use crate::files::read_text;
use crate::log_once::LogOnce;
use crate::pki::leaf::{is_due, is_for, is_issued_by};
use crate::pki::{self, CertificateFile, Identity, Subject, certificates, names, sealed};
use crate::setup::{now, server_names};

/// Renews and reloads the certificates for as long as the node runs.
pub(super) async fn run(parts: Arc<Parts>, store: Arc<dyn Store>, files: Arc<[CertificateFile]>) {
    let mut timer = match CheckTimer::new() {
        Ok(timer) => timer,
        Err(error) => {
            tracing::error!(%error, "certificates are not reloaded: cannot listen for SIGHUP");
            return;
        }
    };
    // The node has read the files before this task began to watch them: they are read once more.
    let mut seen = FileStamps::default();
    let (mut renewals, mut ends) = (renewals(&parts), EndWarnings::default());
    loop {
        for renewal in &mut renewals {
            let done = renewal.carry_out(&parts, &*store);
            if let Some(error) = renewal.log_once.new_error(&done) {
                tracing::warn!(error, name = renewal.name, "the certificate is not renewed");
            }
        }
        let current = look(&parts);
        if current != seen {
            match reload(&parts) {
                Ok(()) => {
                    tracing::info!("certificates were read");
                    seen = current;
                }
                Err(error) => {
                    tracing::warn!(%error, "the changed certificates cannot be used; the old ones stay")
                }
            }
        }
        ends.tell(&files, now(&parts.env));
        timer.next().await;
    }
}

/// Reads the files again and uses them from now on.
pub(super) fn reload(parts: &Parts) -> Result<(), Error> {
    let folder = parts.dir.pki();
    let (server, peer) =
        (pki::server_files(&folder, parts.proxies.as_deref())?, pki::peer_credentials(&folder)?);
    parts.server_tls.replace(&server).map_err(Error::config)?;
    parts.peer_tls.reload(&peer).map_err(Error::config)
}

fn look(parts: &Parts) -> FileStamps {
    FileStamps::of(files_of(&parts.dir.pki()).into_iter().chain(parts.proxies.clone()))
}

/// A certificate of the node that is to be renewed in time.
struct Renewal {
    name: &'static str,
    authority: &'static str,
    subject: Subject,
    log_once: LogOnce,
}

fn renewals(parts: &Parts) -> [Renewal; 2] {
    let config = &parts.config;
    let server = Subject::Server { names: server_names(config.naming, &config.api.advertise) };
    let peer = Subject::Peer { cluster: config.cluster, node: config.node };
    [(names::SERVER, names::AUTHORITY, server), (names::PEER, names::PEER_AUTHORITY, peer)].map(
        |(name, authority, subject)| Renewal {
            name,
            authority,
            subject,
            log_once: LogOnce::default(),
        },
    )
}

impl Renewal {
    /// Replaces the certificate if it is time to, or if it is no longer for the names that the node
    /// has.
    fn carry_out(&self, parts: &Parts, store: &dyn Store) -> Result<(), Error> {
        let (folder, now) = (parts.dir.pki(), now(&parts.env));
        let chain = Identity::read(&folder, self.name)?.chain()?;
        let is_due = is_due(&chain[0], now)?;
        let renamed = match &self.subject {
            Subject::Server { names } => !is_for(&chain[0], names)?,
            _ => false,
        };
        if !is_due && !renamed {
            return Ok(());
        }
        let authority = certificates(&read_text(&folder.join(format!("{}.crt", self.authority)))?)?;
        if !is_issued_by(&chain[0], &authority[0])? {
            return if is_due {
                Err(Error::config("it ends soon, and another authority has issued it"))
            } else {
                Ok(())
            };
        }
        let authority = sealed::authority(store, &parts.secret, self.authority)?;
        authority.issue(&self.subject, now)?.write(&folder, self.name)?;
        tracing::info!(name = self.name, "certificate was renewed");
        Ok(())
    }
}
