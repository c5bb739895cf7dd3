//! One index: the keys of a collection's objects by the value of a label or a field.
//!
//! It answers for every revision from `floor` to where its watch stands. Invariant: for each of these
//! the keys of a term are at least those whose object had it then. A key that loses its term stays
//! for a while, among the last [`MAX_LEFT`] that did, so that lists of a state that is a little older
//! are answered too; `floor` is the revision of the last one that was taken away.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::Bound;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_store::{Entry, Revision, Store, Term, Watch, WatchBatch};

use super::IndexedBy;

/// Objects looked at in one go before other requests get a turn.
const SCAN_OBJECTS: usize = 4096;
/// Keys without their term that are kept.
const MAX_LEFT: usize = 4096;
/// Transactions that an index may be behind; then it is cheaper made anew.
const MAX_BEHIND: u64 = 65_536;
/// A collection has at least so many objects for each that an index gives, or is scanned.
const SELECTIVE: usize = 4;
/// Bytes of an entry besides its key, and of a term.
const ENTRY_BYTES: usize = 56;
const TERM_BYTES: usize = 160;

/// Keys without the prefix of the collection, each with the revision at which it last was seen with
/// the term.
type Keys = BTreeMap<Box<[u8]>, Revision>;

/// An index that is kept current when it is used.
pub(crate) struct BuiltIndex {
    by: IndexedBy,
    prefix: Bytes,
    watch: Watch,
    keys: HashMap<Term, Keys>,
    /// What lost its term, the oldest first.
    left: VecDeque<(Revision, Term, Box<[u8]>)>,
    floor: Revision,
    bytes: usize,
    /// Objects of the collection.
    objects: usize,
    broken: bool,
}

/// Keys that may match, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) keys: Vec<Bytes>,
    /// Whether there are none after them.
    pub(crate) is_end: bool,
}

impl BuiltIndex {
    /// The index of the newest state; `None` when it would take more bytes than that.
    pub(super) async fn build(
        store: &dyn Store,
        prefix: &Bytes,
        by: &IndexedBy,
        max_bytes: usize,
    ) -> Option<Self> {
        let snapshot = store.snapshot();
        let floor = snapshot.revision();
        let watch = store.watch(prefix.clone(), floor).ok()?;
        let mut index = Self {
            by: by.clone(),
            prefix: prefix.clone(),
            watch,
            keys: HashMap::new(),
            left: VecDeque::new(),
            floor,
            bytes: 0,
            objects: 0,
            broken: false,
        };
        for (seen, (key, entry)) in snapshot.range(prefix, None).enumerate() {
            if seen % SCAN_OBJECTS == SCAN_OBJECTS - 1 {
                tokio::task::yield_now().await;
            }
            index.objects += 1;
            if let Some(term) = index.term_of(Some(entry)) {
                index.add(term, &key[prefix.len()..], floor);
            }
            if index.bytes > max_bytes {
                return None;
            }
        }
        Some(index)
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it can no longer be kept current.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// At most `most` keys under a prefix, after a key, of objects that may have one of the values at
    /// a revision. `None` when the index does not know, or would give too large a part of the
    /// collection.
    pub(crate) fn candidates(
        &mut self,
        at: Revision,
        values: &[String],
        (prefix, after): (&[u8], Option<&[u8]>),
        most: usize,
    ) -> Option<Candidates> {
        if !self.reaches(at) {
            return None;
        }
        let terms = values.iter().map(|value| IndexedBy::term(value));
        let terms: Vec<&Keys> =
            terms.chain([IndexedBy::unknown()]).filter_map(|term| self.keys.get(&term)).collect();
        if terms.iter().map(|keys| keys.len()).sum::<usize>() * SELECTIVE > self.objects {
            return None;
        }
        let within = prefix.get(self.prefix.len()..)?;
        let from = match after.filter(|after| *after >= prefix) {
            Some(after) => Bound::Excluded(after.get(self.prefix.len()..)?),
            None => Bound::Included(within),
        };
        let mut found: Vec<&[u8]> = Vec::new();
        for keys in terms {
            let later = keys.range::<[u8], _>((from, Bound::Unbounded)).map(|(key, _)| &**key);
            found.extend(later.take_while(|key| key.starts_with(within)).take(most + 1));
        }
        found.sort_unstable();
        found.dedup();
        let is_end = found.len() <= most;
        found.truncate(most);
        let keys = found.into_iter().map(|key| self.whole(key)).collect();
        Some(Candidates { keys, is_end })
    }

    /// Whether the index answers for a revision, after it has taken in what there is.
    fn reaches(&mut self, at: Revision) -> bool {
        if self.broken || at < self.floor {
            return false;
        }
        let position = self.watch.position();
        if position >= at {
            return true;
        }
        if at.get() - position.get() > MAX_BEHIND {
            self.broken = true;
            return false;
        }
        loop {
            match self.watch.try_next() {
                Ok(Some(batch)) => self.take_in(&batch),
                Ok(None) => return at >= self.floor && self.watch.position() >= at,
                Err(_) => {
                    self.broken = true;
                    return false;
                }
            }
        }
    }

    fn take_in(&mut self, batch: &WatchBatch) {
        for event in batch.events() {
            let key = &event.key[self.prefix.len()..];
            let previous = self.term_of(event.previous.as_ref());
            let current = self.term_of(event.current.as_ref());
            match (&event.previous, &event.current) {
                (None, Some(_)) => self.objects += 1,
                (Some(_), None) => self.objects = self.objects.saturating_sub(1),
                _ => {}
            }
            if let Some(term) = current {
                self.add(term, key, batch.revision());
            }
            if let Some(term) = previous.filter(|_| previous != current) {
                self.left.push_back((batch.revision(), term, key.into()));
            }
        }
        while self.left.len() > MAX_LEFT {
            self.forget_oldest();
        }
    }

    fn add(&mut self, term: Term, key: &[u8], revision: Revision) {
        let keys = self.keys.entry(term).or_default();
        if keys.is_empty() {
            self.bytes += TERM_BYTES;
        }
        if let Some(seen) = keys.get_mut(key) {
            *seen = revision;
            return;
        }
        keys.insert(key.into(), revision);
        self.bytes += ENTRY_BYTES + key.len();
    }

    /// Takes the key away that lost its term first, unless it has it again.
    fn forget_oldest(&mut self) {
        let Some((revision, term, key)) = self.left.pop_front() else { return };
        self.floor = self.floor.max(revision);
        let Some(keys) = self.keys.get_mut(&term) else { return };
        if keys.get(&key).is_none_or(|seen| *seen >= revision) {
            return;
        }
        keys.remove(&key);
        self.bytes -= ENTRY_BYTES + key.len();
        if keys.is_empty() {
            self.keys.remove(&term);
            self.bytes -= TERM_BYTES;
        }
    }

    fn term_of(&self, entry: Option<&Entry>) -> Option<Term> {
        self.by.term_of(&entry?.value)
    }

    fn whole(&self, key: &[u8]) -> Bytes {
        let mut whole = BytesMut::with_capacity(self.prefix.len() + key.len());
        whole.put_slice(&self.prefix);
        whole.put_slice(key);
        whole.freeze()
    }
}

impl fmt::Debug for BuiltIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltIndex").field("by", &self.by).finish_non_exhaustive()
    }
}
