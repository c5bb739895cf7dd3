//! The index: which bases must be there, and the last segment.
//!
//! It is the one object that is written again. Invariant: it names nothing that is not complete; what
//! it does not name may still be there, written by another node at the same time.

use crate::error::{BackupError, Damage};
use crate::layout::{BaseId, INDEX, SegmentId};
use crate::record::{Hash, Index};
use crate::repository::Repository;
use crate::sealed::Kind;

/// The index.
pub(crate) async fn load(repository: &Repository) -> Result<Index, BackupError> {
    Ok(repository.load(Kind::Index, INDEX).await?.0)
}

/// The index, or an empty one where there is none or it is damaged: for writers.
pub(crate) async fn load_or_empty(repository: &Repository) -> Result<Index, BackupError> {
    match load(repository).await {
        Err(BackupError::Damaged { damage, .. }) => {
            if damage != Damage::Missing {
                tracing::warn!(%damage, "the index of the repository is damaged: a new one is begun");
            }
            Ok(Index::default())
        }
        other => other,
    }
}

pub(crate) async fn save(repository: &Repository, index: &Index) -> Result<(), BackupError> {
    repository.save(Kind::Index, INDEX, index).await.map(drop)
}

/// Adds a complete base.
pub(crate) async fn add_base(repository: &Repository, base: BaseId) -> Result<(), BackupError> {
    let mut index = load_or_empty(repository).await?;
    if !index.bases.contains(&base) {
        index.bases.push(base);
        index.bases.sort();
    }
    save(repository, &index).await
}

/// Makes a segment the last one, unless a later one is.
pub(crate) async fn set_tail(
    repository: &Repository,
    tail: (SegmentId, Hash),
) -> Result<(), BackupError> {
    let mut index = load_or_empty(repository).await?;
    if index.tail.is_none_or(|(known, _)| known.last < tail.0.last) {
        index.tail = Some(tail);
        save(repository, &index).await?;
    }
    Ok(())
}
