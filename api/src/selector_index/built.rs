//! One index: the keys of a collection's objects by the value of a label or a field.
//!
//! It answers for every revision from `floor` to `reached`. Invariant: for each of these
//! the keys of a term are at least those whose object had it then. A key that loses its term stays
//! for a while, among the last [`MAX_LEFT`] that did, so that lists of a state that is a little older
//! are answered too; `floor` is the revision of the last one that was taken away.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::ops::Bound;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_store::{Entry, Revision, Store, Term, Watch, WatchBatch};

use super::IndexedBy;

/// Objects looked at in one go before other requests get a turn.
const SCAN_OBJECTS: usize = 4096;
/// Keys without their term that are kept.
const MAX_LEFT: usize = 4096;
/// Transactions taken in at one go before other requests get a turn.
const STEP_BATCHES: usize = 1024;
/// Transactions that an index may be behind; then it is cheaper made anew.
const MAX_BEHIND: u64 = 65_536;
/// Candidates of a part that are counted one by one; what there are more is estimated.
pub(super) const COUNTED: usize = 1024;
/// Bytes of an entry besides its key, of what lost its term likewise, and of a term.
const ENTRY_BYTES: usize = 56;
const LEFT_BYTES: usize = 48;
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
    /// Up to where it has taken in what has changed.
    reached: Revision,
    bytes: usize,
    /// Objects of the collection.
    objects: usize,
}

/// Why there is no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unbuilt {
    /// It would take too many bytes.
    TooLarge,
    /// The state that it was to begin with is no longer kept: another one was installed.
    Compacted,
}

/// How far an index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It answers for the revision.
    Reached,
    /// There is more to take in.
    Behind,
    /// It does not know the state of that revision, which is older.
    TooOld,
    /// It cannot be kept current any more.
    Lost,
}

/// A part of an index, without the prefix of the collection.
struct KeyRange<'r> {
    within: &'r [u8],
    from: Bound<&'r [u8]>,
}

/// Keys that may match, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) keys: Vec<Bytes>,
    /// Whether there are none after them.
    pub(crate) is_end: bool,
}

impl BuiltIndex {
    /// The index of the newest state, of no more than so many bytes.
    pub(super) async fn build(
        store: &dyn Store,
        prefix: &Bytes,
        by: &IndexedBy,
        max_bytes: usize,
    ) -> Result<Self, Unbuilt> {
        let snapshot = store.snapshot();
        let floor = snapshot.revision();
        let watch = store.watch(prefix.clone(), floor).map_err(|_| Unbuilt::Compacted)?;
        let mut index = Self {
            by: by.clone(),
            prefix: prefix.clone(),
            watch,
            keys: HashMap::new(),
            left: VecDeque::new(),
            floor,
            reached: floor,
            bytes: 0,
            objects: 0,
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
                return Err(Unbuilt::TooLarge);
            }
        }
        Ok(index)
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes in some of what has changed, where it does not answer for a revision yet.
    pub(super) fn advance(&mut self, at: Revision) -> Progress {
        if self.reached < at {
            self.reached = self.reached.max(self.watch.position());
        }
        if at.get().saturating_sub(self.reached.get()) > MAX_BEHIND {
            return Progress::Lost;
        }
        for _ in 0..STEP_BATCHES {
            if at < self.floor {
                return Progress::TooOld;
            }
            if self.reached >= at {
                return Progress::Reached;
            }
            match self.watch.try_next() {
                Ok(Some(batch)) => self.take_in(&batch),
                Ok(None) => {
                    self.reached = self.watch.position();
                    // What the list has seen may not have been announced to watches yet.
                    if self.reached < at {
                        return Progress::Behind;
                    }
                }
                Err(_) => return Progress::Lost,
            }
        }
        Progress::Behind
    }

    /// About how many candidates there are for some values in a part of the collection that has so
    /// many objects; few are counted exactly.
    pub(crate) fn estimate(
        &self,
        values: &[String],
        (prefix, after): (&[u8], Option<&[u8]>),
        objects: usize,
    ) -> usize {
        let all: usize = self.keys_of(values).map(BTreeMap::len).sum();
        if prefix == self.prefix && after.is_none() {
            return all;
        }
        let Some(range) = self.range(prefix, after) else { return usize::MAX };
        let counted = self.keys_of(values).flat_map(|keys| range.keys(keys)).take(COUNTED).count();
        if counted < COUNTED {
            return counted;
        }
        // As if they were spread evenly over the collection.
        let share = all as u128 * objects as u128 / (self.objects.max(1) as u128);
        usize::try_from(share).unwrap_or(usize::MAX).max(COUNTED)
    }

    /// At most `most` keys under a prefix, after a key, of objects that may have one of the values at
    /// a revision. `None` when the index does not know.
    pub(crate) fn candidates(
        &self,
        at: Revision,
        values: &[String],
        (prefix, after): (&[u8], Option<&[u8]>),
        most: usize,
    ) -> Option<Candidates> {
        if !(self.floor..=self.reached).contains(&at) {
            return None;
        }
        let range = self.range(prefix, after)?;
        let mut ranges: Vec<_> = self.keys_of(values).map(|keys| range.keys(keys)).collect();
        let heads = ranges.iter_mut().enumerate();
        let mut heads: BinaryHeap<_> =
            heads.filter_map(|(place, keys)| Some(Reverse((keys.next()?, place)))).collect();
        let mut found: Vec<&[u8]> = Vec::new();
        let mut is_end = true;
        while let Some(Reverse((key, place))) = heads.pop() {
            if found.last() != Some(&key) {
                if found.len() == most {
                    is_end = false;
                    break;
                }
                found.push(key);
            }
            heads.extend(ranges[place].next().map(|next| Reverse((next, place))));
        }
        let keys = found.into_iter().map(|key| self.whole(key)).collect();
        Some(Candidates { keys, is_end })
    }

    /// The keys of each value, and those of objects whose value is not known.
    fn keys_of(&self, values: &[String]) -> impl Iterator<Item = &Keys> {
        let terms = values.iter().map(|value| IndexedBy::term(value));
        terms.chain([IndexedBy::unknown()]).filter_map(|term| self.keys.get(&term))
    }

    /// What is under a prefix and after a key; `None` where that is not in the collection.
    fn range<'r>(&self, prefix: &'r [u8], after: Option<&'r [u8]>) -> Option<KeyRange<'r>> {
        let within = prefix.get(self.prefix.len()..)?;
        let from = match after.filter(|after| *after >= prefix) {
            Some(after) => Bound::Excluded(after.get(self.prefix.len()..)?),
            None => Bound::Included(within),
        };
        Some(KeyRange { within, from })
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
                self.bytes += LEFT_BYTES + key.len();
            }
        }
        while self.left.len() > MAX_LEFT {
            self.forget_oldest();
        }
        self.reached = self.reached.max(batch.revision());
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
        self.bytes -= LEFT_BYTES + key.len();
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

impl KeyRange<'_> {
    fn keys<'k>(&self, keys: &'k Keys) -> impl Iterator<Item = &'k [u8]> {
        let later = keys.range::<[u8], _>((self.from, Bound::Unbounded)).map(|(key, _)| &**key);
        later.take_while(|key| key.starts_with(self.within))
    }
}

impl fmt::Debug for BuiltIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltIndex").field("by", &self.by).finish_non_exhaustive()
    }
}
