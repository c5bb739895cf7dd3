//! The past of the memory store: every transaction that there ever was.
//!
//! Invariants: contiguous from the first transaction on; nothing is dropped, though what was purged
//! is not told. The yardstick for archives
//! that keep their data on disk.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use crate::{
    Batch, Entry, Event, Extent, Past, PastError, Purge, PurgeCount, Purges, Revision, Version,
};

#[derive(Debug, Default)]
pub(super) struct MemoryPast {
    kept: RwLock<Transactions>,
}

#[derive(Debug, Default)]
struct Transactions {
    /// The transaction of revision N is at N - 1.
    batches: Vec<Arc<Batch>>,
    /// The revisions that changed each key, ascending.
    changed: BTreeMap<Bytes, Vec<Revision>>,
    purges: Purges,
}

impl MemoryPast {
    /// Takes the next transaction in.
    pub(super) fn push(&self, batch: &Arc<Batch>) {
        let mut kept = self.kept.write();
        for event in batch.events.iter() {
            kept.changed.entry(event.key.clone()).or_default().push(batch.revision);
            kept.purges.follow(event);
        }
        kept.batches.push(Arc::clone(batch));
    }
}

impl Transactions {
    fn newest(&self) -> Revision {
        self.batches.last().map_or(Revision::ZERO, |batch| batch.revision)
    }

    fn check(&self, at: Revision) -> Result<(), PastError> {
        let applied = self.newest();
        if at > applied { Err(PastError::Future { at, applied }) } else { Ok(()) }
    }

    fn batch(&self, revision: Revision) -> &Arc<Batch> {
        let place = usize::try_from(revision.get() - 1).expect("as many as memory holds");
        &self.batches[place]
    }

    fn event(&self, key: &[u8], revision: Revision) -> &Event {
        let found = self.batch(revision).events.iter().find(|event| event.key == key);
        found.expect("the index names what the transaction changed")
    }

    /// What the last of these changes up to a revision left of the key.
    fn entry(&self, key: &[u8], changed: &[Revision], at: Revision) -> Option<Entry> {
        let upto = changed.partition_point(|revision| *revision <= at);
        self.event(key, *changed[..upto].last()?).current.clone()
    }
}

impl Past for MemoryPast {
    fn extent(&self) -> Extent {
        let kept = self.kept.read();
        let newest_ms = kept.batches.last().map_or(0, |batch| batch.time_ms);
        Extent { newest: kept.newest(), newest_ms, ..Extent::default() }
    }

    fn revision_at(&self, time_ms: u64) -> Result<Revision, PastError> {
        let kept = self.kept.read();
        let upto = kept.batches.partition_point(|batch| batch.time_ms <= time_ms);
        Ok(kept.batches[..upto].last().map_or(Revision::ZERO, |batch| batch.revision))
    }

    fn time_of(&self, at: Revision) -> Result<u64, PastError> {
        let kept = self.kept.read();
        kept.check(at)?;
        Ok(if at == Revision::ZERO { 0 } else { kept.batch(at).time_ms })
    }

    fn get(&self, key: &[u8], at: Revision) -> Result<Option<Entry>, PastError> {
        let kept = self.kept.read();
        kept.check(at)?;
        let entry = kept.changed.get(key).and_then(|changed| kept.entry(key, changed, at));
        kept.purges.readable(key, entry)
    }

    fn range(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        at: Revision,
        limit: usize,
    ) -> Result<Vec<(Bytes, Entry)>, PastError> {
        let kept = self.kept.read();
        kept.check(at)?;
        let from = match after.filter(|after| *after >= prefix) {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(prefix),
        };
        let keys = kept.changed.range::<[u8], _>((from, Bound::Unbounded));
        let held = keys
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter_map(|(key, changed)| Some((key.clone(), kept.entry(key, changed, at)?)))
            .filter(|(key, entry)| kept.purges.taking(key, entry.modified).is_none());
        Ok(held.take(limit).collect())
    }

    fn versions(
        &self,
        key: &[u8],
        before: Revision,
        limit: usize,
    ) -> Result<Vec<Version>, PastError> {
        let kept = self.kept.read();
        let changed = kept.changed.get(key).map_or(&[][..], Vec::as_slice);
        let older = changed[..changed.partition_point(|revision| *revision < before)].iter().rev();
        let version = |revision: &Revision| {
            let batch = kept.batch(*revision);
            Version {
                revision: *revision,
                time_ms: Some(batch.time_ms),
                origin: batch.origin.clone(),
                entry: kept.purges.without_purged(key, kept.event(key, *revision).current.clone()),
            }
        };
        Ok(older.take(limit).map(version).collect())
    }

    fn changes(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, PastError> {
        let kept = self.kept.read();
        kept.check(after)?;
        let skip = usize::try_from(after.get()).expect("as many as memory holds");
        let mut bytes = 0;
        let fits = |batch: &&Arc<Batch>| {
            let first_or_fits = bytes < max_bytes;
            bytes += batch.footprint();
            first_or_fits
        };
        let found = kept.batches[skip..].iter().take_while(fits);
        Ok(found.map(|batch| kept.purges.purge_batch(batch)).collect())
    }

    fn count_purged(&self, purge: &Purge) -> Result<PurgeCount, PastError> {
        let kept = self.kept.read();
        let mut count = PurgeCount::default();
        if purge.from >= purge.to {
            return Ok(count);
        }
        let named = kept.changed.range::<[u8], _>((
            Bound::Included(purge.from.as_ref()),
            Bound::Excluded(purge.to.as_ref()),
        ));
        for (key, changed) in named {
            let takes = |revision: &&Revision| {
                purge.takes(key, **revision)
                    && kept.purges.taking(key, **revision).is_none()
                    && kept.event(key, **revision).current.is_some()
            };
            let versions = changed.iter().filter(takes).count();
            count.versions += versions;
            count.objects += usize::from(versions > 0);
        }
        Ok(count)
    }
}
