//! Reading a state back: the newest base before the point that is wanted, and the segments after it,
//! up to the revision.
//!
//! Invariants: a state is what was, at exactly one revision, or an error that says how far one can get;
//! each base and each segment that has a digest is compared with it on the way. Where two nodes wrote
//! segments for the same revisions, one that is damaged is passed by.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::StreamExt;
use quorate_store::{Digest, Entry, Revision};

use crate::error::{BackupError, Damage};
use crate::layout::{BaseId, SegmentId};
use crate::record::{Credentials, Manifest, Segment, StoredBatch};
use crate::repository::{Identity, Listed, Repository, damaged};

/// Parts that are read at one time.
const CONCURRENT_READS: usize = 4;

/// The point to restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The newest that there is.
    Newest,
    /// The state after exactly this transaction.
    Revision(Revision),
    /// The state after the last transaction at or before this time, milliseconds since the Unix epoch.
    Time(u64),
}

/// A state as it was.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Its revision.
    pub revision: Revision,
    /// The time of its last transaction or base, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Every key and what it held.
    pub entries: BTreeMap<Bytes, Entry>,
    /// The cluster that it was of.
    pub identity: Identity,
    /// What a new cluster with the old credentials needs, if a base has it.
    pub credentials: Option<Credentials>,
    /// The newest revision that the repository knows of, which clients may have seen.
    pub newest: Revision,
}

/// A state on its way through the segments.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    pub(crate) revision: Revision,
    pub(crate) time_ms: u64,
    pub(crate) entries: BTreeMap<Bytes, Entry>,
}

/// Reads a state.
///
/// # Errors
/// [`BackupError::NoBase`], [`BackupError::Unreachable`]; [`BackupError::Damaged`] with the first
/// object that is in the way.
pub async fn restore(repository: &Repository, target: Target) -> Result<Restored, BackupError> {
    let listed = repository.list().await?;
    let newest_segment = listed.segments.iter().map(|segment| segment.last);
    let newest_base = listed.bases.iter().map(|base| base.id.revision);
    let newest = newest_segment.chain(newest_base).max().unwrap_or_default();
    let mut failed: Option<(Revision, BackupError)> = None;
    for base in listed.bases.iter().rev().filter(|base| base.complete).map(|base| base.id) {
        if matches!(target, Target::Revision(at) if at < base.revision) {
            continue;
        }
        let error = match from_base(repository, &listed, base, target).await {
            // What is there must not be less than a damaged base promised.
            Ok(Some((state, credentials)))
                if failed.as_ref().is_none_or(|(promised, _)| state.revision >= *promised) =>
            {
                let Replayed { revision, time_ms, entries } = state;
                let identity = repository.identity();
                let credentials = match credentials {
                    Some(credentials) => Some(credentials),
                    None => credentials_of_any(repository, &listed).await?,
                };
                return Ok(Restored { revision, time_ms, entries, identity, credentials, newest });
            }
            Ok(_) => continue,
            Err(error @ BackupError::Damaged { .. }) => error,
            Err(other) => return Err(other),
        };
        tracing::warn!(%base, %error, "a base is damaged: an earlier one is tried");
        let promised = match target {
            Target::Revision(at) => at,
            _ => base.revision,
        };
        failed.get_or_insert((promised, error));
    }
    Err(failed.map_or(BackupError::NoBase, |(_, error)| error))
}

/// The cluster's secret from another base: it is the same for the cluster's whole life.
async fn credentials_of_any(
    repository: &Repository,
    listed: &Listed,
) -> Result<Option<Credentials>, BackupError> {
    for base in listed.bases.iter().rev().filter(|base| base.complete) {
        match repository.manifest(base.id).await {
            Ok(Manifest { credentials: Some(credentials), .. }) => return Ok(Some(credentials)),
            Ok(_) | Err(BackupError::Damaged { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

/// The state at the target by way of this base; `None` when the base is after it.
async fn from_base(
    repository: &Repository,
    listed: &Listed,
    base: BaseId,
    target: Target,
) -> Result<Option<(Replayed, Option<Credentials>)>, BackupError> {
    let manifest = repository.manifest(base).await?;
    if matches!(target, Target::Time(at) if at < manifest.time_ms) {
        return Ok(None);
    }
    let mut state = load_base(repository, base, &manifest).await?;
    replay(repository, listed, &mut state, target).await?;
    if let Target::Revision(wanted) = target
        && state.revision < wanted
    {
        return Err(BackupError::Unreachable { wanted, reached: state.revision });
    }
    Ok(Some((state, manifest.credentials)))
}

/// Reads a base whole and compares it with its manifest.
pub(crate) async fn load_base(
    repository: &Repository,
    base: BaseId,
    manifest: &Manifest,
) -> Result<Replayed, BackupError> {
    let parts = manifest.parts.iter().map(|info| async move {
        let (part, hash, _) = repository.part(base, info.id).await?;
        match hash == info.hash {
            true => Ok(part),
            false => Err(damaged(base.part(info.id), Damage::Hash)),
        }
    });
    let mut parts = futures::stream::iter(parts).buffered(CONCURRENT_READS);
    let (mut entries, mut last) = (Vec::new(), Bytes::new());
    while let Some(part) = parts.next().await {
        for (key, entry) in part?.entries {
            if !entries.is_empty() && key <= last {
                return Err(damaged(
                    base.manifest(),
                    Damage::Contents("its keys are not in order"),
                ));
            }
            last = key.clone();
            entries.push((key, entry));
        }
    }
    let entries: BTreeMap<Bytes, Entry> = entries.into_iter().collect();
    let state = Replayed { revision: manifest.revision, time_ms: manifest.time_ms, entries };
    if quorate_env::blocking(|| state.digest()) != manifest.digest {
        let damage = Damage::Digest { revision: manifest.revision };
        return Err(damaged(base.manifest(), damage));
    }
    Ok(state)
}

/// Goes on through the segments, up to the target or as far as they lead.
async fn replay(
    repository: &Repository,
    listed: &Listed,
    state: &mut Replayed,
    target: Target,
) -> Result<(), BackupError> {
    let segments = SegmentOrder::new(listed.segments.clone());
    loop {
        if matches!(target, Target::Revision(at) if at <= state.revision) {
            return Ok(());
        }
        let mut failed = None;
        let mut found = None;
        for id in segments.following(state.revision) {
            match repository.segment(id).await {
                Ok((segment, _)) => {
                    found = Some((id, segment));
                    break;
                }
                Err(error) => failed = Some(error),
            }
        }
        let Some((id, segment)) = found else {
            return failed.map_or(Ok(()), Err);
        };
        if !state.apply(segment, target).map_err(|damage| damaged(id.name(), damage))? {
            return Ok(());
        }
    }
}

/// Segments by where they begin, for finding those that go on from somewhere.
pub(crate) struct SegmentOrder {
    segments: Vec<SegmentId>,
    /// How far this one and those before it lead at most.
    furthest: Vec<Revision>,
}

impl SegmentOrder {
    pub(crate) fn new(mut segments: Vec<SegmentId>) -> Self {
        segments.sort();
        let furthest = segments.iter().scan(Revision::ZERO, |furthest, segment| {
            *furthest = segment.last.max(*furthest);
            Some(*furthest)
        });
        Self { furthest: furthest.collect(), segments }
    }

    /// Those that go on after a revision, first those that lead furthest.
    pub(crate) fn following(&self, at: Revision) -> Vec<SegmentId> {
        let begun = self.segments.partition_point(|segment| segment.after <= at);
        let earlier = (0..begun).rev().take_while(|position| self.furthest[*position] > at);
        let mut found: Vec<SegmentId> = earlier
            .map(|position| self.segments[position])
            .filter(|segment| segment.last > at)
            .collect();
        found.sort_by_key(|segment| std::cmp::Reverse(segment.last));
        found
    }
}

impl Replayed {
    /// Carries out the transactions that the state does not have; false when the target is reached
    /// within them.
    pub(crate) fn apply(&mut self, segment: Segment, target: Target) -> Result<bool, Damage> {
        for batch in segment.batches {
            if batch.revision <= self.revision {
                continue;
            }
            match target {
                Target::Time(at) if batch.time_ms > at => return Ok(false),
                Target::Revision(at) if batch.revision > at => {
                    // What is between had no changes.
                    self.revision = at;
                    return Ok(false);
                }
                _ => self.commit(batch),
            }
        }
        if let Target::Revision(at) = target
            && at < segment.last
        {
            self.revision = at;
            return Ok(false);
        }
        self.revision = segment.last;
        match segment.digest {
            Some(digest) if quorate_env::blocking(|| self.digest()) != digest => {
                Err(Damage::Digest { revision: self.revision })
            }
            _ => Ok(true),
        }
    }

    fn commit(&mut self, batch: StoredBatch) {
        for (key, entry) in batch.changes {
            match entry {
                Some(entry) => self.entries.insert(key, entry),
                None => self.entries.remove(&key),
            };
        }
        (self.revision, self.time_ms) = (batch.revision, batch.time_ms.max(self.time_ms));
    }

    /// As `Snapshot::digest`.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.word(self.revision.get());
        for (key, entry) in &self.entries {
            digest.entry(key, entry);
        }
        digest.finish()
    }
}
