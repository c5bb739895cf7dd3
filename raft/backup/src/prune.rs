//! Pruning: removes old bases, and the segments that no base needs.
//!
//! Invariants: the newest complete base stays, whatever is asked; of a base its manifest goes first, so
//! that what is left of it does not count; a base that another run may still be writing stays for
//! [`UNFINISHED_MS`].

use quorate_store::Revision;

use crate::error::BackupError;
use crate::index;
use crate::layout::BaseId;
use crate::repository::Repository;

/// How long a base without a manifest stays after something was last written to it.
const UNFINISHED_MS: u64 = 24 * 60 * 60 * 1000;

/// What stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// So many of the newest bases.
    pub bases: usize,
    /// Bases that are no older than this besides, in milliseconds.
    pub age_ms: u64,
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Bases.
    pub bases: Vec<BaseId>,
    /// How many segments.
    pub segments: usize,
    /// Bytes of the bases.
    pub bytes: u64,
    /// The oldest base that is left.
    pub oldest: Option<Revision>,
}

/// Removes what need not stay; nothing with `dry_run`, which tells what would go.
///
/// # Errors
/// When the place does not do it. What is half done is gone on with by the next run.
pub async fn prune(
    repository: &Repository,
    keep: Keep,
    dry_run: bool,
) -> Result<Pruned, BackupError> {
    let listed = repository.list().await?;
    let now = repository.clock.now_ms();
    let complete: Vec<_> = listed.bases.iter().filter(|base| base.complete).collect();
    let newest = complete.len().saturating_sub(keep.bases.max(1));
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for (at, base) in complete.into_iter().enumerate() {
        let is_young = base.modified_ms.saturating_add(keep.age_ms) >= now && keep.age_ms > 0;
        if at >= newest || is_young { kept.push(base.id) } else { gone.push(base) }
    }
    let unfinished = listed
        .bases
        .iter()
        .filter(|base| !base.complete && base.modified_ms.saturating_add(UNFINISHED_MS) < now);
    gone.extend(unfinished);
    let oldest = kept.first().map(|base| base.revision);
    let needless = |segment: &crate::layout::SegmentId| oldest.is_some_and(|at| segment.last <= at);
    let segments: Vec<String> =
        listed.segments.iter().filter(|id| needless(id)).map(|id| id.name()).collect();
    let pruned = Pruned {
        bases: gone.iter().map(|base| base.id).collect(),
        segments: segments.len(),
        bytes: gone.iter().map(|base| base.bytes).sum(),
        oldest,
    };
    if dry_run {
        return Ok(pruned);
    }
    let mut index = index::load_or_empty(repository).await?;
    index.bases = kept;
    index::save(repository, &index).await?;
    for base in gone {
        repository.remote.remove(vec![base.id.manifest()]).await?;
        repository
            .remote
            .remove(base.parts.iter().map(|part| base.id.part(*part)).collect())
            .await?;
    }
    repository.remote.remove(segments).await?;
    Ok(pruned)
}
