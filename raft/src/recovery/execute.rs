//! Execution of a recovery, from wherever an earlier attempt was killed.
//!
//! Invariant: the old log goes only after the state holds everything of it, durably, as the new
//! cluster's; from the marker to [`Recovered::finish`] the member cannot be opened.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::TryStreamExt;
use openraft::storage::{RaftLogReader, RaftLogStorage};
use quorate_env::Entropy;
use quorate_env::disk::Disk;
use quorate_store::{NodeId, Revision, Snapshot};

use super::REVISION_MARGIN;
use super::error::RecoveryError;
use super::marker::{self, Marker};
use super::plan::{Recovery, RecoveryOptions, log_options};
use crate::cluster::ClusterId;
use crate::log::Log;
use crate::rollback;
use crate::state_machine::{NewCluster, Offline};
use crate::types::{LogId, Vote};

/// Entries that are applied at once.
const CHUNK_ENTRIES: usize = 1024;
/// The file of the log's folder that is never removed: it is locked, not read.
const LOCK_FILE: &str = "lock";

/// A member whose log and state are the new cluster's.
pub struct Recovered {
    /// The new cluster.
    pub cluster: ClusterId,
    /// The cluster that was given up.
    pub old: ClusterId,
    /// The member, its only voter.
    pub node: NodeId,
    /// Where its revisions begin.
    pub revision: Revision,
    /// What it held before, for callers that need a key of it.
    pub snapshot: Snapshot,
    disk: Arc<dyn Disk>,
    directory: PathBuf,
}

impl Recovered {
    /// To be called when everything beside log and state is the new cluster's as well: from now on
    /// the member can be opened.
    pub fn finish(self) -> Result<(), RecoveryError> {
        marker::remove(&*self.disk, &self.directory)
    }
}

/// Makes log and state those of a new cluster whose only voter this member is.
pub async fn execute(
    recovery: Recovery,
    entropy: &dyn Entropy,
) -> Result<Recovered, RecoveryError> {
    let Recovery { options, marker, mut state, log, last, term, .. } = recovery;
    let marker = match marker {
        Some(marker) => marker,
        None => begin(&options, &state, term, entropy).await?,
    };
    if let Some(mut log) = log {
        let failed = |source| RecoveryError::Io { path: options.directory.join("state"), source };
        apply_rest(&mut log, last, &mut state).await.map_err(failed)?;
        log.close().await.map_err(failed)?;
        let revision = Revision::new(state.position().progress.revision.get() + REVISION_MARGIN);
        let Marker { node, old, new: cluster, certain, .. } = marker;
        let target =
            NewCluster { old, cluster, node, peer: options.peer.clone(), certain, revision };
        state.move_to_cluster(target).map_err(failed)?;
    }
    let progress = state.position().progress;
    remake_log(&options, &marker, progress.log_id).await?;
    Ok(Recovered {
        cluster: marker.new,
        old: marker.old,
        node: options.node,
        revision: progress.revision,
        snapshot: state.snapshot(),
        disk: options.disk,
        directory: options.directory,
    })
}

async fn begin(
    options: &RecoveryOptions,
    state: &Offline,
    term: u64,
    entropy: &dyn Entropy,
) -> Result<Marker, RecoveryError> {
    let marker = Marker {
        node: options.node,
        old: options.cluster,
        new: ClusterId::generate(entropy),
        term: term + 1,
        certain: state.position().progress.revision,
    };
    marker::write(&*options.disk, &options.directory, &marker).await?;
    Ok(marker)
}

/// Applies what the log has beyond the state.
async fn apply_rest(log: &mut Log, last: LogId, state: &mut Offline) -> io::Result<()> {
    let next = state.position().progress.log_id.map_or(0, |applied| applied.index + 1);
    let entries = log.entries_stream(next..=last.index).await;
    let mut chunks = std::pin::pin!(entries.try_ready_chunks(CHUNK_ENTRIES));
    while let Some(chunk) = chunks.try_next().await.map_err(|error| error.1)? {
        state.apply(chunk)?;
    }
    Ok(())
}

/// Replaces the log by one that is empty after `applied` and holds the new cluster's first vote.
async fn remake_log(
    options: &RecoveryOptions,
    marker: &Marker,
    applied: Option<LogId>,
) -> Result<(), RecoveryError> {
    let directory = options.directory.join("log");
    let failed = |source| RecoveryError::Io { path: directory.clone(), source };
    let disk = &options.disk;
    // The disk counts as it is now, in a cluster that knows no other.
    rollback::marker::remove(&**disk, &options.directory).map_err(failed)?;
    for file in disk.list(&directory).map_err(failed)? {
        if file.file_name().is_none_or(|name| name != LOCK_FILE) {
            disk.remove(&file).map_err(failed)?;
        }
    }
    disk.sync_dir(&directory).map_err(failed)?;
    begin_log(options, marker.new, marker.term, applied).await
}

/// Makes a log in an empty folder: it is empty after `applied`, and holds the cluster's first vote.
pub(super) async fn begin_log(
    options: &RecoveryOptions,
    cluster: ClusterId,
    term: u64,
    applied: Option<LogId>,
) -> Result<(), RecoveryError> {
    let failed = |source| RecoveryError::Io { path: options.directory.join("log"), source };
    let mut log = Log::open(log_options(options, cluster)).await?;
    let filled = async {
        log.save_vote(&Vote::new(term, options.node)).await?;
        if let Some(applied) = applied {
            log.purge(applied).await?;
        }
        log.close().await
    };
    filled.await.map_err(failed)
}
