//! Verification: reads every object, restores every base in memory, goes through every segment, and
//! names what is damaged, missing or foreign.
//!
//! Invariant: a repository without findings gives every state that it promises: each base, and each
//! revision between a base and the end of the segments that lead on from it. A finding names one
//! object; those that follow from it are not told besides.

use std::collections::{BTreeMap, BTreeSet};

use quorate_store::Revision;

use crate::error::{BackupError, Damage};
use crate::index;
use crate::layout::{HEADER, SegmentId};
use crate::record::{Hash, Index};
use crate::repository::{Listed, ListedBase, Repository, damaged};
use crate::restore::{Replayed, SegmentOrder, Target, load_base};

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The object.
    pub name: String,
    /// What is wrong with it.
    pub damage: Damage,
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// What is wrong, by the names.
    pub findings: Vec<Finding>,
    /// Objects of the repository.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Complete bases that give their state.
    pub bases: usize,
    /// Segments that are sound.
    pub segments: usize,
    /// Stretches of revisions each of which can be restored.
    pub reach: Vec<(Revision, Revision)>,
    /// Bases that a run has not finished; they do not count.
    pub unfinished: usize,
}

/// What a segment says of itself, for the chain.
struct Link {
    hash: Hash,
    previous: Option<(SegmentId, Hash)>,
}

/// Reads everything.
///
/// # Errors
/// When the place does not answer; what is wrong with objects is a finding.
pub async fn verify(repository: &Repository) -> Result<Verified, BackupError> {
    let listed = repository.list().await?;
    let mut verified =
        Verified { objects: listed.objects, bytes: listed.bytes, ..Verified::default() };
    let mut findings = BTreeMap::new();
    for name in &listed.foreign {
        findings.insert(name.clone(), Damage::Unexpected);
    }
    let index = found(&mut findings, index::load(repository).await)?.unwrap_or_default();
    // The one that was opened may have been exchanged since.
    if !listed_header(repository).await? {
        findings.insert(HEADER.to_owned(), Damage::Missing);
    }
    check_index(&index, &listed, &mut findings);
    let links = check_segments(repository, &listed, &mut findings).await?;
    verified.segments = links.len();
    check_chain(&index, &listed, &links, &mut findings);
    // One that is damaged is a finding already.
    let sound = SegmentOrder::new(links.keys().copied().collect());
    for base in &listed.bases {
        if !base.complete {
            verified.unfinished += usize::from(!index.bases.contains(&base.id));
            continue;
        }
        let Some(state) = check_base(repository, base, &mut findings).await? else { continue };
        verified.bases += 1;
        let (from, to) = go_through(repository, &sound, state, &mut findings).await?;
        let goes_on = verified.reach.last_mut().filter(|(_, reached)| from <= *reached);
        match goes_on {
            Some((_, reached)) => *reached = to.max(*reached),
            None => verified.reach.push((from, to)),
        }
    }
    let finding = |(name, damage)| Finding { name, damage };
    verified.findings = findings.into_iter().map(finding).collect();
    Ok(verified)
}

type Findings = BTreeMap<String, Damage>;

/// A result whose damage is a finding.
fn found<T>(
    findings: &mut Findings,
    result: Result<T, BackupError>,
) -> Result<Option<T>, BackupError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(BackupError::Damaged { name, damage }) => {
            findings.entry(name).or_insert(damage);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

async fn listed_header(repository: &Repository) -> Result<bool, BackupError> {
    Ok(repository.remote.get(HEADER).await?.is_some())
}

/// What the index names must be there.
fn check_index(index: &Index, listed: &Listed, findings: &mut Findings) {
    for base in &index.bases {
        if !listed.bases.iter().any(|listed| listed.id == *base && listed.complete) {
            findings.insert(base.manifest(), Damage::Missing);
        }
    }
    if let Some((tail, _)) = index.tail
        && !listed.segments.contains(&tail)
        && oldest_base(listed).is_none_or(|oldest| tail.last > oldest)
    {
        findings.insert(tail.name(), Damage::Missing);
    }
}

/// The revision from which on segments are needed.
fn oldest_base(listed: &Listed) -> Option<Revision> {
    listed.bases.iter().find(|base| base.complete).map(|base| base.id.revision)
}

/// Reads every segment.
async fn check_segments(
    repository: &Repository,
    listed: &Listed,
    findings: &mut Findings,
) -> Result<BTreeMap<SegmentId, Link>, BackupError> {
    let mut links = BTreeMap::new();
    for id in &listed.segments {
        let read = repository.segment(*id).await;
        if let Some((segment, hash)) = found(findings, read)? {
            links.insert(*id, Link { hash, previous: segment.previous });
        }
    }
    Ok(links)
}

/// What a segment or the index names must be there, and be what it was.
fn check_chain(
    index: &Index,
    listed: &Listed,
    links: &BTreeMap<SegmentId, Link>,
    findings: &mut Findings,
) {
    let oldest = oldest_base(listed);
    let named = links.values().filter_map(|link| link.previous).chain(index.tail);
    for (id, hash) in named {
        let is_needed = oldest.is_none_or(|oldest| id.last > oldest);
        let damage = match links.get(&id) {
            Some(link) if link.hash == hash => continue,
            Some(_) => Damage::Hash,
            None if listed.segments.contains(&id) || !is_needed => continue,
            None => Damage::Missing,
        };
        findings.entry(id.name()).or_insert(damage);
    }
}

/// Reads every part of a base and restores it.
async fn check_base(
    repository: &Repository,
    base: &ListedBase,
    findings: &mut Findings,
) -> Result<Option<Replayed>, BackupError> {
    let manifest = found(findings, repository.manifest(base.id).await)?;
    let named: BTreeMap<_, _> = manifest
        .iter()
        .flat_map(|manifest| &manifest.parts)
        .map(|part| (part.id, part.hash))
        .collect();
    let present: BTreeSet<_> = base.parts.iter().copied().collect();
    let mut sound = manifest.is_some();
    for part in present.iter().chain(named.keys().filter(|part| !present.contains(part))) {
        let name = base.id.part(*part);
        let read = match (repository.part(base.id, *part).await, named.get(part)) {
            (Ok((_, hash, _)), Some(expect)) if hash != *expect => {
                Err(damaged(name.clone(), Damage::Hash))
            }
            (read, _) => read.map(drop),
        };
        sound &= found(findings, read)?.is_some();
    }
    match manifest {
        Some(manifest) if sound => found(findings, load_base(repository, base.id, &manifest).await),
        _ => Ok(None),
    }
}

/// Goes on from a base as far as sound segments lead. Gives the first and the last revision.
async fn go_through(
    repository: &Repository,
    segments: &SegmentOrder,
    mut state: Replayed,
    findings: &mut Findings,
) -> Result<(Revision, Revision), BackupError> {
    let from = state.revision;
    while let Some(id) = segments.following(state.revision).first().copied() {
        let Some((segment, _)) = found(findings, repository.segment(id).await)? else {
            break;
        };
        if let Err(damage) = state.apply(segment, Target::Newest) {
            findings.entry(id.name()).or_insert(damage);
            break;
        }
    }
    Ok((from, state.revision))
}
