//! Purges in a slice: which of its records have contents that were purged.
//!
//! Invariant: versions and bases say by their key and revision alone whether they are purged, so a
//! slice needs no other one, whatever lies between them. A purged record keeps its place and its
//! revisions and loses its value.

use std::collections::HashSet;
use std::io;

use bytes::Bytes;
use quorate_store::{Entry, PastError, Purge, PurgeCount, Purges, Revision};

use crate::contents::Contents;
use crate::engine::Record;
use crate::layout::{self, Section};
use crate::past::View;
use crate::record::{self, damaged};
use crate::slice::Slice;

/// An entry of a slice that a purge takes.
struct Taken {
    key: Bytes,
    modified: Revision,
    is_base: bool,
}

/// The entries of a slice with contents that a purge takes.
fn taken<'a>(slice: &Slice, purge: &'a Purge) -> impl Iterator<Item = io::Result<Taken>> + use<'a> {
    let number = slice.number;
    let (from, to) = (&purge.from, &purge.to);
    let table = &slice.era.table;
    let versions =
        table.scan(&layout::versions_from(number, from), &layout::versions_from(number, to));
    let bases = table.scan(&layout::base(number, from), &layout::base(number, to));
    versions.chain(bases).filter_map(move |record| {
        let found = record.and_then(|record| entry_of(&record));
        match found {
            Ok(Some((key, entry, is_base))) => {
                let is_taken = !entry.value.is_empty() && purge.takes(&key, entry.modified);
                is_taken.then_some(Ok(Taken { key, modified: entry.modified, is_base }))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    })
}

/// The store's key that a record is about; `None` for one without entries.
fn key_of(key: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let found = match layout::section_of(key) {
        Section::Versions => layout::escaped_key_of(key).map(layout::unescape),
        Section::Bases => layout::base_key_of(key).map(<[u8]>::to_vec),
        Section::Other => return Ok(None),
    };
    found.map(Some).ok_or_else(damaged)
}

/// The key and the entry that a record has, if it has one, and whether that is a base.
fn entry_of((key, value): &Record) -> io::Result<Option<(Bytes, Entry, bool)>> {
    let Some(entry_key) = key_of(key)? else { return Ok(None) };
    let is_base = layout::section_of(key) == Section::Bases;
    let entry = if is_base {
        record::decode_base(value.clone())?
    } else {
        let revision = layout::revision_of(key).ok_or_else(damaged)?;
        record::decode_version(revision, value.clone())?
    };
    Ok(entry.map(|entry| (entry_key.into(), entry, is_base)))
}

/// Whether a slice has contents that a purge takes.
pub(crate) fn holds_some(slice: &Slice, purge: &Purge) -> io::Result<bool> {
    Ok(taken(slice, purge).next().transpose()?.is_some())
}

/// The record without contents that were purged.
pub(crate) fn without_purged(purges: &Purges, record: Record) -> io::Result<Record> {
    let Some(key) = key_of(&record.0)? else { return Ok(record) };
    if !purges.iter().any(|known| known.purge.names(&key)) {
        return Ok(record);
    }
    let Some((key, entry, is_base)) = entry_of(&record)? else { return Ok(record) };
    if entry.value.is_empty() || purges.taking(&key, entry.modified).is_none() {
        return Ok(record);
    }
    let entry = purges.without_purged(&key, Some(entry));
    let encode = if is_base { record::encode_base } else { record::encode_version };
    Ok((record.0, encode(entry.as_ref())))
}

/// Whether a version is told by a slice's own versions, or by what is newer than all slices.
fn is_covered(contents: &Contents, modified: Revision) -> bool {
    match contents.slices.get(contents.place_of(modified)) {
        Some(slice) => slice.info.after < modified,
        None => contents.archived < modified,
    }
}

/// See [`quorate_store::Past::count_purged`].
pub(crate) fn count(view: &View<'_>, purge: &Purge) -> Result<PurgeCount, PastError> {
    let (mut objects, mut versions) = (HashSet::new(), 0);
    let mut add = |key: Bytes, modified: Revision| {
        if view.purges.taking(&key, modified).is_none() {
            objects.insert(key);
            versions += 1;
        }
    };
    for slice in &view.contents.slices {
        for found in taken(slice, purge) {
            let found = view.sound(slice, found)?;
            // The table may have more by now than these contents say.
            let is_here = found.modified <= slice.info.last;
            if is_here && !(found.is_base && is_covered(&view.contents, found.modified)) {
                add(found.key, found.modified);
            }
        }
    }
    let archived = view.contents.archived;
    view.recent.walk(archived, |batch| {
        for event in batch.events.iter().filter(|event| purge.names(&event.key)) {
            let older = event.previous.as_ref();
            let older = older.filter(|entry| !is_covered(&view.contents, entry.modified));
            for entry in event.current.iter().chain(older) {
                if !entry.value.is_empty() && purge.takes(&event.key, entry.modified) {
                    add(event.key.clone(), entry.modified);
                }
            }
        }
        true
    })?;
    Ok(PurgeCount { objects: objects.len(), versions })
}
