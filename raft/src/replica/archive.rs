//! The archive of a member: follows what the member serves.
//!
//! Invariant: a member starts and serves without its archive; what is wrong with it is said in the
//! log.

use std::sync::Arc;

use quorate_archive::{Archive, ArchiveOptions, Engine, FjallEngine};
use quorate_store::Serving;

use super::options::{ArchiveSettings, ReplicaOptions};

/// Starts the archive, if one is to be kept and can be.
pub(super) fn start(options: &ReplicaOptions, serving: &Serving) -> Option<Archive> {
    let settings = options.archive.as_ref()?;
    let directory = &settings.directory;
    let start = || {
        let engine: Arc<dyn Engine> = match &settings.engine {
            Some(engine) => Arc::clone(engine),
            None => Arc::new(FjallEngine::open(directory)?),
        };
        let owner = format!("{} {}", options.cluster, options.state.identity.naming);
        let (clock, disk) = (Arc::clone(&options.env.clock), Arc::clone(&options.log.disk));
        let usual = ArchiveOptions::new(engine, owner, clock, disk);
        let ArchiveSettings { retention, bytes, bulk_wait, bulk_bytes, slice_versions, .. } =
            *settings;
        let archive =
            ArchiveOptions { retention, bytes, bulk_wait, bulk_bytes, slice_versions, ..usual };
        Archive::start(archive, serving.clone())
    };
    match start() {
        Ok(archive) => Some(archive),
        Err(error) => {
            tracing::error!(directory = %directory.display(), %error, "there is no archive");
            None
        }
    }
}
