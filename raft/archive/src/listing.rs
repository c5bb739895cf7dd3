//! A list of an old revision: one merged scan over the slice that has it, the bases of the later
//! slices, and the newest state.
//!
//! Invariant: the first source that knows a key decides, for the sources stand in the order of
//! time and each knows what its keys held when it begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::iter::Peekable;

use bytes::Bytes;
use quorate_store::{Entry, Revision};

use crate::engine::{Record, Records};
use crate::layout;
use crate::record::{self, damaged};
use crate::slice::Slice;

/// Versions of one key that are passed over one by one, before the next key is looked for.
const SKIP_VERSIONS: usize = 64;

/// A key, and what it held; `None` when it was absent.
pub(crate) type Held = io::Result<(Bytes, Option<Entry>)>;
/// Keys in ascending order.
pub(crate) type Source<'a> = Box<dyn Iterator<Item = Held> + Send + 'a>;

/// What the keys that changed in a slice held at one of its revisions.
pub(crate) struct SliceState {
    slice: Slice,
    at: Revision,
    bases: Source<'static>,
    versions: Peekable<Records>,
    escaped: Vec<u8>,
}

impl SliceState {
    /// The keys from this one on.
    pub(crate) fn new(slice: &Slice, from: &[u8], at: Revision) -> Self {
        let bases = Box::new(slice.bases(from));
        let versions = versions(slice, &layout::versions_from(slice.number, from));
        Self { slice: slice.clone(), at, bases, versions, escaped: Vec::new() }
    }

    /// The newest version of this key that is not too new, if there is one. Leaves the versions of
    /// the next key to come.
    fn newest(&mut self, key: &Bytes) -> io::Result<Option<(Revision, Vec<u8>)>> {
        self.escaped.clear();
        layout::escape(key, &mut self.escaped);
        let mut newest = None;
        let mut passed = 0;
        loop {
            let is_next = |record: &io::Result<Record>| match record {
                Ok((version, _)) => layout::escaped_key_of(version) <= Some(&self.escaped[..]),
                Err(_) => true,
            };
            let Some(record) = self.versions.next_if(is_next) else { return Ok(newest) };
            let (version, value) = record?;
            // A bulk that came after the bases were looked at may have brought other keys.
            if layout::escaped_key_of(&version) != Some(&self.escaped[..]) {
                continue;
            }
            let revision = layout::revision_of(&version).ok_or_else(damaged)?;
            if revision <= self.at {
                newest = Some((revision, value));
            }
            passed += 1;
            if passed == SKIP_VERSIONS {
                return self.skip(key, newest);
            }
        }
    }

    /// The same for a key with many versions.
    fn skip(
        &mut self,
        key: &[u8],
        newest: Option<(Revision, Vec<u8>)>,
    ) -> io::Result<Option<(Revision, Vec<u8>)>> {
        let number = self.slice.number;
        let past = layout::version(number, key, Revision::MAX);
        self.versions = versions(&self.slice, &past);
        let from = layout::version(number, key, Revision::ZERO);
        let to = layout::version(number, key, self.at.next());
        let Some(record) = self.slice.era.table.scan_back(&from, &to).next() else {
            return Ok(newest);
        };
        let (version, value) = record?;
        Ok(Some((layout::revision_of(&version).ok_or_else(damaged)?, value)))
    }
}

fn versions(slice: &Slice, from: &[u8]) -> Peekable<Records> {
    slice.era.table.scan(from, &layout::versions_end(slice.number)).peekable()
}

impl Iterator for SliceState {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        let (key, base) = match self.bases.next()? {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        let entry = match self.newest(&key) {
            Ok(Some((revision, value))) => record::decode_version(revision, value),
            Ok(None) => Ok(base),
            Err(error) => Err(error),
        };
        Some(entry.map(|entry| (key, entry)))
    }
}

/// Merges sources, the earlier of which decide.
pub(crate) struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// The next key of each source, least first; of those of one key the earliest source first.
    next: BinaryHeap<Reverse<(Bytes, usize)>>,
    entries: Vec<Option<Entry>>,
    last: Option<Bytes>,
    failed: Option<io::Error>,
}

impl<'a> Merge<'a> {
    /// Begins with the first key of all.
    pub(crate) fn new(sources: Vec<Source<'a>>) -> Self {
        let entries = vec![None; sources.len()];
        let mut merge =
            Self { sources, next: BinaryHeap::new(), entries, last: None, failed: None };
        (0..merge.sources.len()).for_each(|place| merge.advance(place));
        merge
    }

    fn advance(&mut self, place: usize) {
        match self.sources[place].next() {
            Some(Ok((key, entry))) => {
                self.entries[place] = entry;
                self.next.push(Reverse((key, place)));
            }
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        loop {
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let Reverse((key, place)) = self.next.pop()?;
            let entry = self.entries[place].take();
            self.advance(place);
            if self.last.as_ref() != Some(&key) {
                self.last = Some(key.clone());
                return Some(Ok((key, entry)));
            }
        }
    }
}
