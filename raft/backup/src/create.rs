//! A backup: what happened since the last one, where the server still has it, and a base.
//!
//! Invariant: changes are written before and after the base, so that every revision between two bases
//! can be restored; that the server no longer has them is told and is no failure.

use crate::base::write_base;
use crate::changes::{Chain, write_changes};
use crate::error::{BackupError, SourceError};
use crate::layout::BaseId;
use crate::record::{Credentials, Manifest};
use crate::repository::Repository;
use crate::source::Source;
use quorate_store::Revision;

/// Is told how far a base is, now and then.
pub(crate) type Report<'a> = &'a (dyn Fn(&Progress) + Send + Sync);

/// How far a base is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Keys that were received.
    pub objects: u64,
    /// How many there are.
    pub total_objects: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// How many there are.
    pub total_bytes: u64,
    /// Bytes that were stored.
    pub stored_bytes: u64,
}

/// What is to be backed up and where.
pub struct Backup<'a> {
    /// Where to.
    pub repository: &'a Repository,
    /// What.
    pub source: &'a dyn Source,
    /// Kept in the manifest, for a restore with the old credentials.
    pub credentials: Option<Credentials>,
    /// Whether to write a base, or the changes alone.
    pub base: bool,
    /// Is told how far it is.
    pub progress: Report<'a>,
}

/// What was written.
#[derive(Debug)]
pub struct Created {
    /// Up to which revision there were changes to write; `None` where there was nothing before.
    pub changes: Option<Revision>,
    /// Whether revisions since the backup before are missing, because the server has them no longer.
    pub gap: bool,
    /// Bytes of the changes as they are stored.
    pub changes_bytes: u64,
    /// The base, and how many of its parts an interrupted run had written.
    pub base: Option<(BaseId, Manifest, usize)>,
}

/// Makes a backup.
///
/// # Errors
/// See [`BackupError`].
pub async fn create(backup: Backup<'_>) -> Result<Created, BackupError> {
    let Backup { repository, source, credentials, base, progress } = backup;
    let mut created = Created { changes: None, gap: false, changes_bytes: 0, base: None };
    let mut chain = Chain::end_of(repository).await?;
    if let Some(known) = &mut chain {
        match write_changes(repository, source, known).await {
            Ok(bytes) => {
                created.changes_bytes = bytes;
                created.changes = Some(known.last);
            }
            Err(BackupError::Source(SourceError::Gone)) => created.gap = true,
            Err(other) => return Err(other),
        }
    }
    // A repository without a base is of no use, and after a gap none of what follows would be.
    if base || created.changes.is_none() {
        let (id, manifest, reused) = write_base(repository, source, credentials, progress).await?;
        let whole = chain.filter(|_| !created.gap);
        let mut chain = whole.unwrap_or_else(|| Chain::after_base(id));
        created.base = Some((id, manifest, reused));
        // So that the chain does not end before the base that came after it.
        match write_changes(repository, source, &mut chain).await {
            Ok(bytes) => created.changes_bytes += bytes,
            Err(BackupError::Source(SourceError::Gone)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(created)
}
