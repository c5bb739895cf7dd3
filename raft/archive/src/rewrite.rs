//! Rewriting: an era that has what was purged is written anew without it.
//!
//! A table has no way to delete a range, and what is hidden in it may stay on the disk for long. So
//! the records that are left go into a new table, which takes the place of the old one at once; the
//! old one goes with its last reader. Invariants: one era at a time, with the engine's pauses, on the
//! writer's thread, so that an era does not grow meanwhile; whole or not at all: the old era counts
//! until the new one is complete, and a start that finds both drops the new one and does it again.
//! Which eras are to be rewritten follows from what is in them and is kept nowhere.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use quorate_store::{KnownPurge, Purges};

use crate::contents::Contents;
use crate::engine::{Engine, Record, Records};
use crate::era::Era;
use crate::layout;
use crate::options::ArchiveOptions;
use crate::purges;
use crate::shared::Shared;
use crate::slice::Slice;

/// How long a rewriting that has failed is not tried again, milliseconds.
const RETRY_MS: u64 = 60_000;

/// What has been looked at.
#[derive(Debug, Default)]
pub(crate) struct Rewriter {
    /// Of each era, by its name, the keys of purges of which it has nothing.
    clean: HashMap<String, HashSet<Bytes>>,
    /// Nothing is written before, milliseconds since the Unix epoch.
    not_before_ms: u64,
}

impl Rewriter {
    /// Rewrites the next era that has something to lose; false when none has.
    pub(crate) fn step(
        &mut self,
        options: &ArchiveOptions,
        shared: &Shared,
        purges: &Purges,
    ) -> io::Result<bool> {
        let now_ms = options.clock.now_ms();
        if now_ms < self.not_before_ms || purges.iter().next().is_none() {
            return Ok(false);
        }
        let contents = shared.contents();
        let is_there = |name: &String| contents.slices.iter().any(|slice| slice.era.name == *name);
        self.clean.retain(|name, _| is_there(name));
        let eras = contents.slices.chunk_by(|one, next| Arc::ptr_eq(&one.era, &next.era));
        for slices in eras {
            if self.is_clean(shared, slices, purges) {
                continue;
            }
            let written = rewrite(&*options.engine, shared, slices, purges);
            if written.is_err() {
                self.not_before_ms = now_ms.saturating_add(RETRY_MS);
            }
            let Some(era) = written? else { return Ok(false) };
            publish(shared, &contents, &slices[0].era, &era);
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether an era has nothing that was purged. One that cannot be read is for the writer to drop.
    fn is_clean(&mut self, shared: &Shared, slices: &[Slice], purges: &Purges) -> bool {
        let clean = self.clean.entry(slices[0].era.name.clone()).or_default();
        if clean.len() > purges.iter().count() {
            clean.retain(|key| purges.iter().any(|known| known.key == *key));
        }
        for KnownPurge { key, purge, .. } in purges.iter() {
            // What lived after the purge stays, and is all that a later era knows of that time.
            if purge.upto <= slices[0].info.after || clean.contains(key) {
                continue;
            }
            for slice in slices {
                match purges::holds_some(slice, purge) {
                    Ok(true) => return false,
                    Ok(false) => {}
                    Err(error) => {
                        shared.report(slice, &error);
                        return true;
                    }
                }
            }
            clean.insert(key.clone());
        }
        true
    }
}

/// The era without what was purged, under another name; `None` when it could not be read, or the
/// archive is closing. An era counts from when the records about its slices are there, which come
/// last.
fn rewrite(
    engine: &dyn Engine,
    shared: &Shared,
    slices: &[Slice],
    purges: &Purges,
) -> io::Result<Option<Arc<Era>>> {
    let (first, last) = (&slices[0], &slices[slices.len() - 1]);
    tracing::info!(era = %first.era.name, "a part of the archive is written without what was purged");
    let era = Era::create(engine, first.info.after)?;
    let records = first.era.table.scan(&layout::info(0), &layout::info(last.number + 1));
    let mut kept = Kept { records, purges, shared, infos: Vec::new(), ended: None };
    let mut written = era.table.ingest(&mut kept);
    if written.is_ok() && kept.ended.is_none() {
        written = era.table.ingest(&mut std::mem::take(&mut kept.infos).into_iter());
    }
    if written.is_ok() && kept.ended.is_none() {
        return Ok(Some(era));
    }
    era.table.give_up();
    if let Some(End::Unreadable(error)) = kept.ended {
        shared.report(first, &error);
    }
    written.map(|()| None)
}

/// Puts the new era in the place of the old one.
fn publish(shared: &Shared, contents: &Contents, old: &Arc<Era>, new: &Arc<Era>) {
    let mut contents = contents.clone();
    for slice in contents.slices.iter_mut().filter(|slice| Arc::ptr_eq(&slice.era, old)) {
        slice.era = Arc::clone(new);
    }
    shared.publish(contents);
    old.table.give_up();
    shared.rewritten.fetch_add(1, Ordering::Relaxed);
}

/// Why the records end before the last one.
enum End {
    /// The archive is closing.
    Closing,
    /// A record cannot be read.
    Unreadable(io::Error),
}

/// The records of an era without what was purged, and without those about its slices.
struct Kept<'a> {
    records: Records,
    purges: &'a Purges,
    shared: &'a Shared,
    /// The records about slices.
    infos: Vec<Record>,
    ended: Option<End>,
}

impl Iterator for Kept<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.ended.is_none() {
            if self.shared.closing.is_cancelled() {
                self.ended = Some(End::Closing);
                return None;
            }
            let record = self.records.next()?;
            match record.and_then(|record| purges::without_purged(self.purges, record)) {
                Ok(info) if layout::is_info(&info.0) => self.infos.push(info),
                Ok(record) => return Some(record),
                Err(error) => self.ended = Some(End::Unreadable(error)),
            }
        }
        None
    }
}
