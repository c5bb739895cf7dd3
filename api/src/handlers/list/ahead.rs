//! The entries of a collection, with the memory of a few of them asked for at once.
//!
//! A large collection is in no cache of the processor, and each object lies somewhere else: reading
//! one after the other waits for each. Loads that do not depend on each other are done side by side.

use std::hint::black_box;

use bytes::Bytes;
use quorate_store::Entry;
use smallvec::SmallVec;

/// Entries that are asked for at once: a core has about as many loads under way.
const ENTRIES: usize = 16;

type Item<'a> = (&'a Bytes, &'a Entry);

/// The entries of an iterator; `fetch` asks for the memory of some.
pub(super) struct Ahead<'a, I, F> {
    entries: I,
    fetch: F,
    batch: SmallVec<[Item<'a>; ENTRIES]>,
    /// The place in the batch of what comes next.
    next: usize,
}

impl<'a, I: Iterator<Item = Item<'a>>, F: Fn(&[Item<'a>])> Ahead<'a, I, F> {
    pub(super) fn new(entries: I, fetch: F) -> Self {
        Self { entries, fetch, batch: SmallVec::new(), next: 0 }
    }
}

impl<'a, I: Iterator<Item = Item<'a>>, F: Fn(&[Item<'a>])> Iterator for Ahead<'a, I, F> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        if self.next == self.batch.len() {
            self.next = 0;
            self.batch.clear();
            self.batch.extend(self.entries.by_ref().take(ENTRIES));
            (self.fetch)(&self.batch);
        }
        let item = *self.batch.get(self.next)?;
        self.next += 1;
        Some(item)
    }
}

/// Has the headers of some objects fetched: of those that are not selected nothing else is read.
pub(super) fn fetch_headers(items: &[Item<'_>]) {
    for (_, entry) in items {
        black_box(entry.value.first().copied());
    }
}

#[cfg(test)]
mod tests {
    use quorate_store::{Revision, Snapshot};

    use super::*;

    #[test]
    fn every_entry_comes_once_and_in_order() {
        let entry = |value: &'static str| Entry {
            value: Bytes::from_static(value.as_bytes()),
            created: Revision::new(1),
            modified: Revision::new(1),
        };
        for count in [0, 1, ENTRIES - 1, ENTRIES, ENTRIES + 1, 5 * ENTRIES + 3] {
            let key = |number: usize| Bytes::from(format!("o/{number:05}"));
            let entries = (0..count).map(|number| {
                (key(number), entry(if number.is_multiple_of(2) { "" } else { "value" }))
            });
            let snapshot = Snapshot::of(Revision::new(1), entries);
            let mut ahead =
                Ahead::new(snapshot.range(b"o/", None), |batch| assert!(batch.len() <= ENTRIES));
            let found: Vec<Bytes> = ahead.by_ref().map(|(key, _)| key.clone()).collect();
            assert_eq!(found, (0..count).map(key).collect::<Vec<_>>());
            assert!(ahead.next().is_none());
        }
    }
}
