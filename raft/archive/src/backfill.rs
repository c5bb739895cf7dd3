//! The back-fill: fetches from other members what this archive lacks, and has the writer take it in.
//!
//! What is missing are gaps (the journal had lost what came next, or an era was damaged) and what is
//! before the oldest slice: a new member's archive begins where its journal does. A range is fetched
//! from one member from its beginning to its end, the newest range first; so a back-fill that was
//! interrupted leaves a gap, which the next one finds.
//!
//! Invariants: a member is asked for a range only after its history was compared with this one's at
//! an end of what is missing; what it gives is checked before it is archived ([`crate::received`]).
//! One range is fetched at a time, with pauses, so that serving does not feel it. A failure is said
//! and another member asked, or the same one later; nothing else waits for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quorate_env::blocking;
use quorate_store::{Batch, Gap, NodeId, Past, Revision};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::fill::{Fill, FillError};
use crate::missing::{Chunk, Room, missing, next_chunk};
use crate::options::{ArchiveOptions, BackfillOptions};
use crate::part::{self, UNKNOWN_MS};
use crate::past::ArchivePast;
use crate::received::{Position, compare_left, compare_previous, is_same_batch};
use crate::shared::Shared;
use crate::source::{Inventory, PastSource, SourceError};

/// Of the retention, what is left to expire: it might be gone before it is filled.
const EXPIRING_PART: u64 = 100;

/// Fills an archive from those of other members.
#[derive(Debug)]
pub struct Backfill {
    pub(crate) options: BackfillOptions,
    pub(crate) archive: ArchiveOptions,
    pub(crate) shared: Arc<Shared>,
    pub(crate) past: Arc<ArchivePast>,
    pub(crate) source: Arc<dyn PastSource>,
    pub(crate) fills: mpsc::Sender<Fill>,
    /// Members of which was said that their release cannot give anything.
    pub(crate) told: BTreeSet<NodeId>,
}

impl Backfill {
    /// Works until it is dropped.
    pub async fn run(mut self) {
        let mut tried: Option<(Vec<Gap>, Instant)> = None;
        loop {
            sleep(self.options.look).await;
            let missing = self.missing();
            let is_tried = tried
                .as_ref()
                .is_some_and(|(of, at)| *of == missing && at.elapsed() < self.options.retry);
            if missing.is_empty() || is_tried {
                continue;
            }
            self.fill_from_members().await;
            tried = Some((self.missing(), Instant::now()));
        }
    }

    fn room(&self) -> Room {
        let retention = u64::try_from(self.archive.retention.as_millis()).unwrap_or(u64::MAX);
        let kept = retention - retention / EXPIRING_PART;
        Room {
            since_ms: self.archive.clock.now_ms().saturating_sub(kept),
            dropped: self.shared.filled.dropped(),
            bytes: self.archive.bytes,
        }
    }

    fn missing(&self) -> Vec<Gap> {
        missing(&self.shared.contents(), self.room())
    }

    /// Fetches all that is missing and that the other members have.
    async fn fill_from_members(&mut self) {
        let mut members = self.inventories().await;
        let mut before = Revision::MAX;
        while let Some(chunk) = next_chunk(&self.shared.contents(), &members, self.room()) {
            if chunk.range.last > before {
                // What was filled is gone again, or there is a new gap: for the next time.
                return;
            }
            let Gap { after, last } = chunk.range;
            tracing::info!(member = chunk.member, %after, %last, "the archive is filled from another member");
            match self.fill(&chunk).await {
                Ok(()) => before = after,
                Err(FillError::Overtaken) => return,
                Err(error) => {
                    self.note_failure(&chunk, &error);
                    members.retain(|(member, _)| *member != chunk.member);
                }
            }
        }
    }

    fn note_failure(&self, Chunk { member, range, .. }: &Chunk, error: &FillError) {
        let Gap { after, last } = range;
        match error {
            FillError::Refused(reason) => tracing::error!(
                member, %after, %last, reason, "what another member has of the past is refused"
            ),
            FillError::Unproven => {
                tracing::info!(member, %after, %last, %error, "the archive is not filled");
                return;
            }
            _ => tracing::warn!(member, %after, %last, %error, "the archive cannot be filled"),
        }
        self.shared.filled.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// What each member has.
    async fn inventories(&mut self) -> Vec<(NodeId, Inventory)> {
        let since_ms = self.room().since_ms;
        let mut found = Vec::new();
        for member in self.source.members() {
            match self.source.inventory(member, since_ms).await {
                Ok(inventory) => {
                    self.told.remove(&member);
                    let is_ours = inventory.owner == self.archive.owner;
                    match is_ours && part::are_sound(&inventory.parts) {
                        true => found.push((member, inventory)),
                        // It keeps none.
                        false if inventory == Inventory::default() => {}
                        false => {
                            tracing::error!(member, "what a member says of its archive is refused");
                            self.shared.filled.failures.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                Err(error @ SourceError::Unimplemented) => {
                    if self.told.insert(member) {
                        tracing::info!(member, %error, "the archive is not filled from this member");
                    }
                }
                Err(SourceError::Unavailable(reason)) => {
                    tracing::debug!(member, reason, "a member cannot say what its archive has");
                }
            }
        }
        found
    }

    async fn fill(&self, chunk: &Chunk) -> Result<(), FillError> {
        self.compare(chunk).await?;
        let contents = self.shared.contents();
        let before = contents.ending_at(chunk.range.after);
        let behind = contents.beginning_at(chunk.range.last);
        let mut reached = Position {
            revision: chunk.range.after,
            time_ms: before.map_or(chunk.after_ms, |slice| slice.info.last_ms),
            end_ms: behind.map_or(u64::MAX, |slice| slice.info.first_ms),
        };
        drop(contents);
        while reached.revision < chunk.range.last {
            let (batches, position) = self.fetch(chunk, reached).await?;
            self.hand_over(chunk, reached, batches).await?;
            reached = position;
        }
        Ok(())
    }

    /// A bulk of batches of the chunk, and where it ends.
    async fn fetch(
        &self,
        chunk: &Chunk,
        from: Position,
    ) -> Result<(Vec<Arc<Batch>>, Position), FillError> {
        let (mut found, mut bytes, mut reached) = (Vec::new(), 0, from);
        while reached.revision < chunk.range.last && bytes < self.archive.bulk_bytes {
            let (member, at) = (chunk.member, reached.revision);
            let mut batches = self.source.changes(member, at, self.options.answer_bytes).await?;
            let surplus = batches.partition_point(|batch| batch.revision <= chunk.range.last);
            reached = reached.after(&batches[..surplus.max(1).min(batches.len())])?;
            batches.truncate(surplus);
            if batches.is_empty() {
                let reason = format!("it has nothing after revision {at} any more");
                return Err(SourceError::Unavailable(reason).into());
            }
            let received: usize = batches.iter().map(|batch| batch.footprint()).sum();
            bytes += received;
            found.extend(batches);
            sleep(pause_after(received, self.options.bytes_per_second)).await;
        }
        Ok((found, reached))
    }

    /// Gives a bulk to the writer, and returns when it is archived.
    async fn hand_over(
        &self,
        chunk: &Chunk,
        from: Position,
        batches: Vec<Arc<Batch>>,
    ) -> Result<(), FillError> {
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return Ok(()) };
        blocking(|| self.check_ends(chunk, &batches))?;
        let first_ms = first.time_ms;
        let range = Gap { after: from.revision, last: last.revision };
        let after_ms = match from.time_ms {
            UNKNOWN_MS if from.revision > Revision::ZERO => first_ms,
            known => known,
        };
        let is_continued = from.revision > chunk.range.after;
        let (done, is_done) = oneshot::channel();
        let fill = Fill { batches, range, after_ms, is_continued, done };
        // Without a writer the archive is closed.
        self.fills.send(fill).await.map_err(|_| FillError::Overtaken)?;
        is_done.await.unwrap_or(Err(FillError::Overtaken))
    }

    /// Compares what joins what is here with that.
    fn check_ends(&self, chunk: &Chunk, batches: &[Arc<Batch>]) -> Result<(), FillError> {
        let Gap { after, last } = chunk.missing;
        if let Some(first) = batches.first().filter(|first| first.revision == after.next()) {
            compare_previous(first, |key| self.past.get(key, after))?;
        }
        if batches.last().is_some_and(|batch| batch.revision == last) {
            compare_left(batches, |key| self.past.get(key, last))?;
        }
        Ok(())
    }

    /// Whether the member's history is this one's: by the first transaction behind what is missing,
    /// by the state there, or by the last transaction before it.
    async fn compare(&self, chunk: &Chunk) -> Result<(), FillError> {
        let Gap { after, last } = chunk.missing;
        if self.compare_batch(chunk.member, last).await? {
            return Ok(());
        }
        let before_last = Revision::new(last.get() - 1);
        if let Some(batch) = self.batch_after(chunk.member, before_last).await? {
            let known = |key: &[u8]| self.past.get(key, last);
            let agree = blocking(|| compare_left(&[batch], known))?;
            if agree > 0 {
                return Ok(());
            }
        }
        if after > Revision::ZERO
            && self.compare_batch(chunk.member, Revision::new(after.get() - 1)).await?
        {
            return Ok(());
        }
        Err(FillError::Unproven)
    }

    /// Compares the transaction after a revision; false where it is not known on both sides.
    async fn compare_batch(&self, member: NodeId, after: Revision) -> Result<bool, FillError> {
        let ours = blocking(|| self.past.changes(after, 1)).unwrap_or_default();
        let Some(ours) = ours.first() else { return Ok(false) };
        let Some(theirs) = self.batch_after(member, after).await? else { return Ok(false) };
        if is_same_batch(ours, &theirs) {
            return Ok(true);
        }
        let revision = ours.revision;
        Err(FillError::Refused(format!("its revision {revision} is another one: another history")))
    }

    /// A member's transaction after a revision, if it has it.
    async fn batch_after(
        &self,
        member: NodeId,
        after: Revision,
    ) -> Result<Option<Arc<Batch>>, FillError> {
        let batches = self.source.changes(member, after, 1).await?;
        let Some(batch) = batches.into_iter().next() else { return Ok(None) };
        match batch.revision == after.next() {
            true => Ok(Some(batch)),
            false => Err(FillError::Refused(format!(
                "it gives revision {} after {after}",
                batch.revision
            ))),
        }
    }
}

/// How long so many bytes may take.
fn pause_after(bytes: usize, bytes_per_second: u64) -> Duration {
    Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / bytes_per_second.max(1))
}
