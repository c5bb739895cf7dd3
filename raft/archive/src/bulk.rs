//! A bulk: consecutive transactions as the sorted records of one slice.
//!
//! Invariant: with what the slice has already, the bulk leaves a slice that knows each key that
//! changed in it: all its versions, and what it held before.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Event, Revision};

use crate::engine::Record;
use crate::layout;
use crate::record::{self, SliceInfo, Transaction};
use crate::slice::Slice;

/// Sorted records, and what the slice is with them.
pub(crate) struct Bulk<'a> {
    pub(crate) info: SliceInfo,
    number: u32,
    batches: &'a [Arc<Batch>],
    versions: Vec<(&'a Bytes, Revision, Option<&'a Entry>)>,
    bases: BTreeMap<&'a Bytes, Option<&'a Entry>>,
}

impl<'a> Bulk<'a> {
    /// The bulk of these batches for a slice, which ends where they begin.
    pub(crate) fn new(slice: &Slice, batches: &'a [Arc<Batch>]) -> io::Result<Self> {
        let mut info = slice.info.clone();
        let mut versions = Vec::new();
        let mut bases = BTreeMap::new();
        let mut seen: HashSet<&Bytes> = HashSet::new();
        for batch in batches {
            for event in batch.events.iter() {
                if seen.insert(&event.key) && is_first(slice, event)? {
                    bases.insert(&event.key, event.previous.as_ref());
                }
                let value = event.current.as_ref().map_or(0, |entry| entry.value.len());
                info.written += (event.key.len() + value) as u64;
                versions.push((&event.key, batch.revision, event.current.as_ref()));
            }
            (info.last, info.last_ms) = (batch.revision, batch.time_ms);
        }
        info.versions += versions.len() as u64;
        versions.sort_by_key(|(key, revision, _)| (*key, *revision));
        Ok(Self { info, number: slice.number, batches, versions, bases })
    }

    /// Its records.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let number = self.number;
        let info = std::iter::once((layout::info(number), record::encode(&self.info)));
        let transactions = self.batches.iter().map(move |batch| {
            let key = layout::transaction(number, batch.revision);
            (key, record::encode(&Transaction::of(batch)))
        });
        let versions = self.versions.iter().map(move |(key, revision, entry)| {
            (layout::version(number, key, *revision), record::encode_version(*entry))
        });
        let bases = self
            .bases
            .iter()
            .map(move |(key, entry)| (layout::base(number, key), record::encode_base(*entry)));
        info.chain(transactions).chain(versions).chain(bases)
    }
}

/// Whether a key that the bulk has not changed before changes for the first time in the slice.
fn is_first(slice: &Slice, event: &Event) -> io::Result<bool> {
    match &event.previous {
        Some(previous) => Ok(previous.modified <= slice.info.after),
        // Created; it may have been deleted earlier in the slice.
        None => Ok(slice.base(&event.key)?.is_none()),
    }
}
