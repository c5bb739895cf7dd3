//! Writing segments: the transactions after what a repository has.
//!
//! Invariant: a segment follows the one before it without a gap and names it; where the server no
//! longer has what comes next, nothing is written, and the chain begins anew at the next base.

use futures::StreamExt;
use quorate_store::Revision;

use crate::base::newest_base;
use crate::error::{BackupError, SourceError};
use crate::frame::Frame;
use crate::index;
use crate::layout::{BaseId, SegmentId};
use crate::record::{Hash, Segment, StoredBatch};
use crate::repository::Repository;
use crate::sealed::Kind;
use crate::source::Source;

/// Bytes of a segment before compression, about.
const SEGMENT_BYTES: usize = 4 << 20;

/// Where segments go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Everything up to there is in the repository.
    pub last: Revision,
    pub(crate) previous: Option<(SegmentId, Hash)>,
}

impl Chain {
    /// One that begins at a base.
    #[must_use]
    pub fn after_base(base: BaseId) -> Self {
        Self { last: base.revision, previous: None }
    }

    /// The end of what is in a repository; `None` when nothing is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn end_of(repository: &Repository) -> Result<Option<Self>, BackupError> {
        let tail = index::load_or_empty(repository).await?.tail;
        let base = newest_base(repository).await?;
        Ok(match (tail, base) {
            (Some((id, hash)), base) if base.is_none_or(|base| base <= id.last) => {
                Some(Self { last: id.last, previous: Some((id, hash)) })
            }
            (_, base) => base.map(|last| Self { last, previous: None }),
        })
    }
}

/// Writes what came after the chain's end, and moves it. Gives the bytes that were written.
///
/// # Errors
/// [`SourceError::Gone`] when the server has it no longer; those of writing. What was written before
/// the error counts.
pub async fn write_changes(
    repository: &Repository,
    source: &dyn Source,
    chain: &mut Chain,
) -> Result<u64, BackupError> {
    let mut frames = source.changes(chain.last).await?;
    let (mut pending, mut pending_bytes, mut written) = (Vec::new(), 0, 0);
    while let Some(frame) = frames.next().await {
        match frame? {
            Frame::Batches(batches) => {
                for batch in batches {
                    pending_bytes += batch.bytes();
                    let last = batch.revision;
                    pending.push(batch);
                    if pending_bytes >= SEGMENT_BYTES {
                        let batches = std::mem::take(&mut pending);
                        written += write_segment(repository, chain, last, batches, None).await?;
                        pending_bytes = 0;
                    }
                }
            }
            Frame::ChangesEnd { last, .. } if last == chain.last => return Ok(written),
            Frame::ChangesEnd { last, digest } => {
                return Ok(written + write_segment(repository, chain, last, pending, digest).await?);
            }
            _ => break,
        }
    }
    Err(SourceError::Unavailable("the answer ends before the changes do".to_owned()).into())
}

async fn write_segment(
    repository: &Repository,
    chain: &mut Chain,
    last: Revision,
    batches: Vec<StoredBatch>,
    digest: Option<u64>,
) -> Result<u64, BackupError> {
    let id = SegmentId::new(chain.last, last, &*repository.entropy);
    let segment = Segment { after: chain.last, last, previous: chain.previous, digest, batches };
    let (hash, bytes) = repository.save(Kind::Segment, &id.name(), &segment).await?;
    index::set_tail(repository, (id, hash)).await?;
    *chain = Chain { last, previous: Some((id, hash)) };
    Ok(bytes)
}
