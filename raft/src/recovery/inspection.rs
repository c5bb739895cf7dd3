//! The inspection of a stopped member: what its folder holds, and whether it is sound.
//!
//! Invariants: it reads all that a start reads and checks it the same way; what a start would repair
//! (a torn end, a state of an earlier format) is repaired in memory, and the folder stays as it is.

use std::path::Path;
use std::sync::Arc;

use openraft::storage::RaftLogStorage;
use quorate_env::disk::{Disk, OverlayDisk};
use quorate_store::Snapshot;

use super::error::RecoveryError;
use super::plan::{Plan, Recovery, RecoveryOptions};
use crate::state_machine;

/// What a stopped member holds.
#[derive(Debug)]
pub struct Inspection {
    /// How far it is, and who the others are.
    pub plan: Plan,
    /// The first entry in its log; the ones before are in the state alone.
    pub first: u64,
    /// What it holds, without the entries that are not applied.
    pub snapshot: Snapshot,
}

/// The format that the state of a member has on disk, before it is opened; `None` when it has none.
///
/// # Errors
/// When it cannot be read.
pub fn state_format(disk: &dyn Disk, directory: &Path) -> Result<Option<u32>, RecoveryError> {
    let path = directory.join("state");
    state_machine::stored_format(disk, &path).map_err(|source| RecoveryError::Io { path, source })
}

/// Opens a stopped member and looks. Its folder stays as it is, also where a start would bring it into
/// another format or cut off what is torn.
///
/// # Errors
/// What is damaged, as a start would say.
pub async fn inspect(options: RecoveryOptions) -> Result<Inspection, RecoveryError> {
    let path = options.directory.join("log");
    let disk = Arc::new(OverlayDisk::new(options.disk.clone()));
    let options = RecoveryOptions { disk, ..options };
    let Recovery { state, log, plan, .. } = Recovery::open(options).await?;
    let mut first = 0;
    if let Some(mut log) = log {
        let failed = |source| RecoveryError::Io { path: path.clone(), source };
        let held = log.get_log_state().await.map_err(failed)?;
        first = held.last_purged_log_id.map_or(0, |purged| purged.index + 1);
        log.close().await.map_err(failed)?;
    }
    Ok(Inspection { plan, first, snapshot: state.snapshot() })
}
