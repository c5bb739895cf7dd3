//! The past as running nodes tell it, against a replay of what was committed: every answer is right,
//! or says why it is not known, and that reason is true.
//!
//! What a key held is found from the newest state backwards, by what the transactions since say of
//! it. Nothing is asked about revisions before the first that was seen, which a recovery has. What
//! one node may have lost is not decided here: only that it says so.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use quorate_raft::Replica;
use quorate_store::{
    Batch, Entry, Extent, Gap, NodeId, Past, PastError, Revision, Snapshot, Store, Version,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::Samples;

/// A node is asked once in so many looks.
const LOOKS_PER_QUESTION: u32 = 3;
/// Most keys and versions that are asked for at once.
const MAX_LIMIT: usize = 20;
/// Most bytes of changes that are asked for at once.
const MAX_BYTES: usize = 4000;
/// Characters of an answer that a violation has.
const BRIEF: usize = 300;

/// Asks, and judges the answers.
#[derive(Debug)]
pub(crate) struct PastChecks {
    rng: StdRng,
    asked: u64,
    told: u64,
    violations: Vec<String>,
}

/// What is known of one node's past at this moment.
struct Replay<'a> {
    /// The revision before the first batch.
    base: Revision,
    /// Up to the newest revision of the node.
    batches: &'a [Arc<Batch>],
    newest: Snapshot,
    extent: Extent,
    /// The oldest revision that the node's journal has the changes after.
    journal: Revision,
    /// Some of the archive cannot be read.
    is_decayed: bool,
}

impl PastChecks {
    /// None yet.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), asked: 0, told: 0, violations: Vec::new() }
    }

    /// How many questions were asked, and to how many of them the answer was known.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.asked, self.told)
    }

    /// What was wrong.
    pub(crate) fn violations(&self) -> &[String] {
        &self.violations[..self.violations.len().min(super::MAX_VIOLATIONS)]
    }

    /// Asks a running node now and then; what it has committed was seen before.
    pub(crate) fn look(
        &mut self,
        node: NodeId,
        replica: &Replica,
        is_decayed: bool,
        samples: &Samples,
    ) {
        if !self.rng.random_ratio(1, LOOKS_PER_QUESTION) {
            return;
        }
        let Some(past) = replica.past() else { return };
        let (newest, extent) = (replica.snapshot(), past.extent());
        let Some(batches) = samples.archive_up_to(newest.revision()) else { return };
        let (base, journal) = (samples.base(), replica.status().oldest);
        let replay = Replay { base, batches, newest, extent, journal, is_decayed };
        let found = self.ask(&*past, &replay);
        self.asked += 1;
        match found {
            Ok(told) => self.told += u64::from(told),
            Err(violation) => self.violations.push(format!("past: node {node} {violation}")),
        }
    }

    /// One question. True when the answer was known.
    fn ask(&mut self, past: &dyn Past, replay: &Replay<'_>) -> Result<bool, String> {
        replay.check_extent()?;
        let rng = &mut self.rng;
        let Some(batch) = replay.batches.choose(rng) else { return Ok(false) };
        let newest = replay.newest.revision().get();
        let at = Revision::new(rng.random_range(replay.base.get()..=newest + 1));
        let limit = rng.random_range(1..=MAX_LIMIT);
        let key = batch.events.choose(rng).map_or(&b"no such key"[..], |event| &event.key);
        match rng.random_range(0..6) {
            0 => {
                let prefix = &key[..rng.random_range(0..=key.len().min(6))];
                let after = rng.random_bool(0.5).then_some(key);
                let expect = replay.range(prefix, after, at, limit);
                let found = past.range(prefix, after, at, limit);
                replay.judge(&format!("range {prefix:?} {after:?} {at}"), at, found, expect)
            }
            1 => replay.check_versions(past, key, at, limit),
            2 => replay.check_changes(past, at, rng.random_range(1..=MAX_BYTES)),
            3 => {
                let time_ms = batch.time_ms + rng.random_range(0..2);
                replay.check_revision_at(past, time_ms)
            }
            4 if at > replay.base => {
                let time_ms = |at| replay.batch(at).map_or(0, |batch| batch.time_ms);
                let found = past.time_of(at);
                // Where the archive begins, and behind a gap, the next time is all that is known.
                let is_begin = replay.is_begin(at) && found == Ok(time_ms(at.next()));
                let expect = time_ms(if is_begin { at.next() } else { at });
                replay.judge(&format!("time of {at}"), at, found, expect)
            }
            _ => {
                let expect = replay.entry(key, at);
                let key_text = String::from_utf8_lossy(key);
                replay.judge(&format!("{key_text} at {at}"), at, past.get(key, at), expect)
            }
        }
    }
}

impl Replay<'_> {
    fn is_begin(&self, at: Revision) -> bool {
        at == self.extent.oldest || self.extent.gaps.iter().any(|gap| gap.last == at)
    }

    fn batch(&self, at: Revision) -> Option<&Arc<Batch>> {
        let place = at.get().checked_sub(self.base.get() + 1)?;
        self.batches.get(usize::try_from(place).ok()?)
    }

    /// The transactions after a revision.
    fn after(&self, at: Revision) -> &[Arc<Batch>] {
        let place = usize::try_from(at.get().saturating_sub(self.base.get())).unwrap_or(usize::MAX);
        &self.batches[place.min(self.batches.len())..]
    }

    /// What a key held.
    fn entry(&self, key: &[u8], at: Revision) -> Option<Entry> {
        let events = self.after(at).iter().flat_map(|batch| batch.events.iter());
        match events.into_iter().find(|event| event.key == key) {
            Some(event) => event.previous.clone(),
            None => self.newest.get(key).cloned(),
        }
    }

    fn range(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        at: Revision,
        limit: usize,
    ) -> Vec<(Bytes, Entry)> {
        let now = self.newest.range(prefix, None).map(|(key, _)| key.clone());
        let changed = self.after(at).iter().flat_map(|batch| batch.events.iter());
        let mut keys: Vec<Bytes> = changed
            .map(|event| event.key.clone())
            .filter(|key| key.starts_with(prefix))
            .chain(now)
            .filter(|key| after.is_none_or(|after| **key > *after))
            .collect();
        keys.sort();
        keys.dedup();
        let held = keys.into_iter().filter_map(|key| Some((self.entry(&key, at)?, key)));
        held.map(|(entry, key)| (key, entry)).take(limit).collect()
    }

    fn check_extent(&self) -> Result<(), String> {
        let Extent { oldest, newest, ref gaps, .. } = self.extent;
        let mut end = oldest;
        let ascend = gaps.iter().all(|gap| {
            let follows = end <= gap.after && gap.after < gap.last;
            end = gap.last;
            follows
        });
        if newest == self.newest.revision() && ascend && end <= newest.max(oldest) {
            return Ok(());
        }
        Err(format!("has {:?} at {}", self.extent, self.newest.revision()))
    }

    fn check_versions(
        &self,
        past: &dyn Past,
        key: &[u8],
        before: Revision,
        limit: usize,
    ) -> Result<bool, String> {
        let mut expect = Vec::new();
        for batch in self.after(self.extent.oldest).iter().rev() {
            let event = batch.events.iter().find(|event| event.key == key);
            if let Some(event) = event.filter(|_| batch.revision < before) {
                expect.push(Version {
                    revision: batch.revision,
                    time_ms: Some(batch.time_ms),
                    origin: batch.origin.clone(),
                    entry: event.current.clone(),
                });
            }
        }
        let first = self.entry(key, self.extent.oldest);
        if let Some(entry) = first.filter(|entry| entry.modified < before) {
            let (revision, origin) = (entry.modified, Bytes::new());
            expect.push(Version { revision, time_ms: None, origin, entry: Some(entry) });
        }
        expect.truncate(limit);
        let what = format!("versions of {} before {before}", String::from_utf8_lossy(key));
        match past.versions(key, before, limit) {
            Err(PastError::Missing { gap }) if self.is_gap(gap) && gap.after < before => Ok(false),
            found => self.judge(&what, self.extent.oldest, found, expect),
        }
    }

    fn check_changes(
        &self,
        past: &dyn Past,
        after: Revision,
        max_bytes: usize,
    ) -> Result<bool, String> {
        let expect = self.after(after);
        let found = past.changes(after, max_bytes);
        let is_beginning = |found: &Vec<Arc<Batch>>| {
            expect.starts_with(found) && (expect.is_empty() || !found.is_empty())
        };
        if after <= self.newest.revision() && found.as_ref().is_ok_and(is_beginning) {
            return Ok(true);
        }
        let few = expect.get(..1).unwrap_or_default().to_vec();
        self.judge(&format!("changes after {after}"), after, found, few)
    }

    fn check_revision_at(&self, past: &dyn Past, time_ms: u64) -> Result<bool, String> {
        let upto = self.batches.partition_point(|batch| batch.time_ms <= time_ms);
        let expect = self.batches[..upto].last().map_or(self.base, |batch| batch.revision);
        let (oldest, oldest_ms) = (self.extent.oldest, self.extent.oldest_ms);
        match past.revision_at(time_ms) {
            Err(PastError::Expired { .. }) if time_ms < oldest_ms || expect < oldest => Ok(false),
            Err(PastError::Missing { gap }) if self.is_gap(gap) => Ok(false),
            found => self.judge(&format!("revision at {time_ms}"), expect, found, expect),
        }
    }

    /// Whether the node says that this is missing, or is about to find out.
    fn is_gap(&self, gap: Gap) -> bool {
        self.extent.gaps.contains(&gap) || gap.last == self.journal
    }

    fn judge<T: PartialEq + Debug>(
        &self,
        what: &str,
        at: Revision,
        found: Result<T, PastError>,
        expect: T,
    ) -> Result<bool, String> {
        let newest = self.newest.revision();
        let (oldest, oldest_ms) = (self.extent.oldest, self.extent.oldest_ms);
        let is_right = match &found {
            Ok(found) => *found == expect && at <= newest,
            Err(PastError::Expired { .. }) => {
                at < oldest && found == Err(PastError::Expired { oldest, oldest_ms })
            }
            Err(PastError::Future { at: asked, applied }) => {
                at > newest && (*asked, *applied) == (at, newest)
            }
            Err(PastError::Missing { gap }) => self.is_gap(*gap) && at < gap.last,
            Err(PastError::Unreadable) => self.is_decayed,
        };
        if is_right {
            return Ok(found.is_ok());
        }
        let brief = |text: String| text.chars().take(BRIEF).collect::<String>();
        let (found, expect) = (brief(format!("{found:?}")), brief(format!("{expect:?}")));
        Err(format!("at {newest} tells of {what}: {found} instead of {expect}"))
    }
}
