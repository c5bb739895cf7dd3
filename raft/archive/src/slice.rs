//! A slice: a contiguous range of revisions in a table, readable without any other.
//!
//! It has the transactions, the versions that they made, and for each key that they changed what it
//! held before (its *base*). So a slice answers for every key that changed in it, at each of its
//! revisions; a key that did not change in it is as it was after the slice before, and as the base
//! of the next slice that has it says. Slices are small (see [`crate::writer`]), for a list of an
//! old revision reads the versions of one slice, and of all later ones only the bases.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Event, Revision};

use crate::era::Era;
use crate::layout;
use crate::record::{self, SliceInfo, Transaction, damaged};

/// A slice that is there.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) era: Arc<Era>,
    pub(crate) number: u32,
    pub(crate) info: SliceInfo,
}

/// What a slice knows of a key; `Ok(None)` when the key did not change in it.
pub(crate) type Known = io::Result<Option<Option<Entry>>>;

impl Slice {
    /// Has its era removed, if that has nothing yet.
    pub(crate) fn abandon(&self) {
        if self.number == 1 && self.info.last == self.info.after {
            self.era.table.give_up();
        }
    }

    /// What the key held at this revision of the slice, or just before it began.
    pub(crate) fn at(&self, key: &[u8], at: Revision) -> Known {
        let Some(base) = self.base(key)? else { return Ok(None) };
        match self.newest(key, at.next())? {
            Some((_, entry)) => Ok(Some(entry)),
            None => Ok(Some(base)),
        }
    }

    /// What the key held just before the slice.
    pub(crate) fn base(&self, key: &[u8]) -> Known {
        let found = self.era.table.get(&layout::base(self.number, key))?;
        found.map(record::decode_base).transpose()
    }

    /// The newest version of a key before a revision, of those made in the slice.
    fn newest(
        &self,
        key: &[u8],
        before: Revision,
    ) -> io::Result<Option<(Revision, Option<Entry>)>> {
        self.versions(key, before).next().transpose()
    }

    /// The versions of a key before a revision, newest first.
    pub(crate) fn versions(
        &self,
        key: &[u8],
        before: Revision,
    ) -> impl Iterator<Item = io::Result<(Revision, Option<Entry>)>> + use<> {
        let from = layout::version(self.number, key, Revision::ZERO);
        let to = layout::version(self.number, key, before);
        self.era.table.scan_back(&from, &to).map(|record| {
            let (key, value) = record?;
            let revision = layout::revision_of(&key).ok_or_else(damaged)?;
            Ok((revision, record::decode_version(revision, value)?))
        })
    }

    /// A transaction of the slice.
    pub(crate) fn transaction(&self, revision: Revision) -> io::Result<Transaction> {
        let found = self.era.table.get(&layout::transaction(self.number, revision))?;
        record::decode(&found.ok_or_else(damaged)?)
    }

    /// When a revision of the slice was, or the one before it.
    pub(crate) fn time_of(&self, revision: Revision) -> io::Result<u64> {
        if revision == self.info.after {
            return Ok(self.info.after_ms);
        }
        if revision == self.info.last {
            return Ok(self.info.last_ms);
        }
        Ok(self.transaction(revision)?.time_ms)
    }

    /// Its newest revision that is not later than this time; the one before it if none is.
    pub(crate) fn revision_at(&self, time_ms: u64) -> io::Result<Revision> {
        let (mut at_most, mut later) = (self.info.after.get(), self.info.last.get() + 1);
        while later - at_most > 1 {
            let middle = at_most + (later - at_most) / 2;
            match self.time_of(Revision::new(middle))? <= time_ms {
                true => at_most = middle,
                false => later = middle,
            }
        }
        Ok(Revision::new(at_most))
    }

    /// The slice's transactions after a revision, ascending.
    pub(crate) fn batches(
        &self,
        after: Revision,
    ) -> impl Iterator<Item = io::Result<Batch>> + use<> {
        let from = layout::transaction(self.number, after.next());
        let to = layout::transactions_end(self.number);
        let slice = self.clone();
        let mut expected = after;
        self.era.table.scan(&from, &to).map(move |record| {
            let (key, value) = record?;
            let revision = layout::revision_of(&key).ok_or_else(damaged)?;
            expected = expected.next();
            if revision != expected {
                return Err(damaged());
            }
            slice.batch(revision, record::decode(&value)?)
        })
    }

    fn batch(&self, revision: Revision, transaction: Transaction) -> io::Result<Batch> {
        let Transaction { time_ms, origin, changes } = transaction;
        let event = |change: record::Change| {
            let current = self.version(&change.key, revision)?;
            let previous = match change.previous {
                Revision::ZERO => None,
                made if made > self.info.after => self.version(&change.key, made)?,
                _ => self.base(&change.key)?.ok_or_else(damaged)?,
            };
            Ok(Event { key: change.key, current, previous })
        };
        let events = changes.into_iter().map(event).collect::<io::Result<Vec<_>>>()?;
        Ok(Batch { revision, time_ms, events: events.into(), origin })
    }

    fn version(&self, key: &[u8], revision: Revision) -> io::Result<Option<Entry>> {
        self.find(key, revision)?.ok_or_else(damaged)
    }

    /// The version of a key that this revision of the slice made; `Ok(None)` when it made none.
    pub(crate) fn find(&self, key: &[u8], revision: Revision) -> Known {
        let found = self.era.table.get(&layout::version(self.number, key, revision))?;
        found.map(|found| record::decode_version(revision, found)).transpose()
    }

    /// The keys from this one on that changed in the slice, and what they held before it.
    pub(crate) fn bases(
        &self,
        from: &[u8],
    ) -> impl Iterator<Item = io::Result<(Bytes, Option<Entry>)>> + Send + use<> {
        let records =
            self.era.table.scan(&layout::base(self.number, from), &layout::bases_end(self.number));
        records.map(|record| {
            let (key, value) = record?;
            let key = Bytes::copy_from_slice(layout::base_key_of(&key).ok_or_else(damaged)?);
            Ok((key, record::decode_base(value)?))
        })
    }
}
