//! A cache of messages: the protobuf forms of stored objects, made once a version and shared by all
//! who read them.
//!
//! Invariants: what is found was made of the version that is asked for, since a version never
//! changes. Bounded in bytes; a newer version takes the place of an older one. A newcomer takes the
//! place of what has not been used for long, and not each one does, so reading a collection that is
//! larger than the cache does not drive out what is used, nor its own beginning. Split into parts,
//! of which each is locked for a look-up and, where the reader copies, for that.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_schema::TypeId;
use quorate_store::Revision;
use rustc_hash::FxHashMap;

/// Bytes of messages that are kept, all shards together. Nothing is kept until a client asks
/// for protobuf.
const KEPT_BYTES: usize = 128 * 1024 * 1024;
/// Independent parts.
const SHARDS: usize = 64;
/// Bytes that an entry takes besides its key and its message.
const ENTRY_BYTES: usize = 160;
/// The largest entry is this part of a shard.
const LARGEST_PART: usize = 4;
/// Of so many newcomers to a full shard one looks for a place.
const NEWCOMERS: u32 = 8;
/// Entries that a newcomer looks at, at most.
const LOOKED_AT: usize = 16;
/// Uses that are remembered of an entry: so often it is passed over.
const MOST_USES: u8 = 7;

/// What tells one message of an object from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageForm {
    /// The type of the message.
    pub(crate) message: TypeId,
    /// The type that the object is served as.
    pub(crate) object: TypeId,
}

/// Counts of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MessageCacheCounts {
    /// Messages that were found.
    pub(crate) hits: u64,
    /// Messages that were asked for in vain.
    pub(crate) misses: u64,
    /// Bytes of what is kept, keys included.
    pub(crate) bytes: u64,
}

/// The cache.
pub(crate) struct MessageCache {
    shards: Box<[Mutex<Shard>]>,
    /// Keyed at random, so that no client can choose keys that fall together.
    hasher: RandomState,
}

/// Where a message would be.
#[derive(Clone, Copy)]
pub(crate) struct MessagePlace<'k> {
    key: &'k [u8],
    form: MessageForm,
    revision: Revision,
    hash: u64,
}

/// One part of the cache.
#[derive(Default)]
struct Shard {
    most_bytes: usize,
    entries: FxHashMap<u64, CachedMessage>,
    /// The hashes of all entries, in a ring.
    ring: Vec<u64>,
    /// The entry that gives way next.
    hand: usize,
    newcomers: u32,
    counts: MessageCacheCounts,
}

struct CachedMessage {
    key: Box<[u8]>,
    form: MessageForm,
    revision: Revision,
    message: Bytes,
    uses: u8,
}

impl Default for MessageCache {
    fn default() -> Self {
        Self::with_bytes(KEPT_BYTES)
    }
}

impl MessageCache {
    fn with_bytes(bytes: usize) -> Self {
        let shard = || Mutex::new(Shard { most_bytes: bytes / SHARDS, ..Shard::default() });
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), hasher: RandomState::default() }
    }

    /// The place of an object's message at a version.
    pub(crate) fn place<'k>(
        &self,
        key: &'k [u8],
        form: MessageForm,
        revision: Revision,
    ) -> MessagePlace<'k> {
        MessagePlace { key, form, revision, hash: self.hasher.hash_one((key, form)) }
    }

    /// What `take` makes of a message that is there; it is called under a lock, so it may copy what
    /// is short and no more.
    pub(crate) fn read<T>(
        &self,
        place: MessagePlace<'_>,
        take: impl FnOnce(&Bytes) -> T,
    ) -> Option<T> {
        let mut shard = self.shard(place).lock();
        let Shard { entries, counts, .. } = &mut *shard;
        let found = entries.get_mut(&place.hash).filter(|entry| entry.is_of(place));
        let Some(entry) = found.filter(|entry| entry.revision == place.revision) else {
            counts.misses += 1;
            return None;
        };
        counts.hits += 1;
        entry.uses = MOST_USES.min(entry.uses + 1);
        Some(take(&entry.message))
    }

    /// Keeps a message, if there is room for it. A newer version stays.
    pub(crate) fn keep(&self, place: MessagePlace<'_>, message: &Bytes) {
        self.shard(place).lock().keep(place, message);
    }

    /// What has been counted.
    pub(crate) fn counts(&self) -> MessageCacheCounts {
        let mut sum = MessageCacheCounts::default();
        for shard in &self.shards {
            let counts = shard.lock().counts;
            sum.hits += counts.hits;
            sum.misses += counts.misses;
            sum.bytes += counts.bytes;
        }
        sum
    }

    fn shard(&self, place: MessagePlace<'_>) -> &Mutex<Shard> {
        // The map in a shard takes the low bits.
        &self.shards[(place.hash >> 48) as usize % SHARDS]
    }
}

impl Shard {
    fn keep(&mut self, place: MessagePlace<'_>, message: &Bytes) {
        let entry = CachedMessage {
            key: place.key.into(),
            form: place.form,
            revision: place.revision,
            message: message.clone(),
            uses: 0,
        };
        let bytes = entry.bytes();
        match self.entries.get_mut(&place.hash) {
            Some(other) if other.is_of(place) && other.revision >= place.revision => {}
            Some(other) => {
                self.counts.bytes -= other.bytes() as u64;
                self.counts.bytes += bytes as u64;
                *other = CachedMessage { uses: other.uses, ..entry };
                self.shrink();
            }
            None if bytes > self.most_bytes / LARGEST_PART => {}
            None => {
                if !self.has_room(bytes) && self.is_considered() {
                    self.make_room(bytes);
                }
                if self.has_room(bytes) {
                    self.counts.bytes += bytes as u64;
                    self.entries.insert(place.hash, entry);
                    self.ring.push(place.hash);
                }
            }
        }
    }

    /// Whether a newcomer to a full shard looks for a place.
    fn is_considered(&mut self) -> bool {
        self.newcomers = self.newcomers.wrapping_add(1);
        self.newcomers.is_multiple_of(NEWCOMERS)
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.counts.bytes as usize + bytes <= self.most_bytes
    }

    /// Looks at some entries until there is room, and forgets those that have not been used since
    /// they were looked at last.
    fn make_room(&mut self, bytes: usize) {
        for _ in 0..LOOKED_AT {
            if self.has_room(bytes) {
                return;
            }
            self.hand = (self.hand + 1) % self.ring.len().max(1);
            let Some(hash) = self.ring.get(self.hand) else { return };
            match self.entries.get_mut(hash) {
                Some(entry) if entry.uses > 0 => entry.uses -= 1,
                _ => self.forget_at(self.hand),
            }
        }
    }

    /// Forgets entries until those that are left are within the limit: a newer version may be
    /// longer than the one before.
    fn shrink(&mut self) {
        while !self.has_room(0) && !self.ring.is_empty() {
            self.forget_at(self.hand % self.ring.len());
        }
    }

    fn forget_at(&mut self, at: usize) {
        if at < self.ring.len() {
            let entry = self.entries.remove(&self.ring.swap_remove(at));
            self.counts.bytes -= entry.map_or(0, |entry| entry.bytes() as u64);
        }
    }
}

impl CachedMessage {
    fn is_of(&self, place: MessagePlace<'_>) -> bool {
        *self.key == *place.key && self.form == place.form
    }

    fn bytes(&self) -> usize {
        self.key.len() + self.message.len() + ENTRY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use quorate_schema::Graph;

    use super::*;

    const MESSAGE_BYTES: usize = 1000;
    /// Entries that fit a small cache.
    const FIT: usize = 50 * SHARDS;

    fn form(ty: &str) -> MessageForm {
        let graph = Graph::builtin(Naming::Svc.names());
        let ty = graph.type_named(ty).expect("a type").id;
        MessageForm { message: ty, object: ty }
    }

    fn small() -> MessageCache {
        MessageCache::with_bytes(FIT * (MESSAGE_BYTES + ENTRY_BYTES + 10))
    }

    /// Asks for the messages of objects by their numbers, and keeps what is not there; how many
    /// were.
    fn scan(cache: &MessageCache, form: MessageForm, objects: std::ops::Range<usize>) -> usize {
        let mut hits = 0;
        for number in objects {
            let key = format!("o/{number:08}");
            let place = cache.place(key.as_bytes(), form, Revision::new(1));
            match cache.read(place, Bytes::len) {
                Some(len) => hits += usize::from(len == MESSAGE_BYTES),
                None => cache.keep(place, &vec![0; MESSAGE_BYTES].into()),
            }
        }
        hits
    }

    #[test]
    fn only_the_version_that_is_asked_for_is_found() {
        let (cache, [map, pod]) = (MessageCache::default(), ["ConfigMap", "Pod"]);
        let [map, pod] = [map, pod].map(|kind| form(&format!("core/v1.{kind}")));
        let keep = |key: &str, form, revision, message: &'static str| {
            let place = cache.place(key.as_bytes(), form, Revision::new(revision));
            cache.keep(place, &Bytes::from_static(message.as_bytes()));
        };
        let check = |key: &str, form, revision, expect: Option<&'static str>| {
            let place = cache.place(key.as_bytes(), form, Revision::new(revision));
            let expect = expect.map(|text| Bytes::from_static(text.as_bytes()));
            assert_eq!(cache.read(place, Bytes::clone), expect, "{key} {revision}");
        };
        keep("a", map, 5, "a5");
        keep("b", map, 5, "b5");
        keep("a", pod, 5, "pod");
        check("a", map, 5, Some("a5"));
        check("b", map, 5, Some("b5"));
        check("a", pod, 5, Some("pod"));
        check("c", map, 5, None);
        check("a", map, 4, None);
        check("a", map, 6, None);
        keep("a", map, 4, "a4");
        check("a", map, 5, Some("a5"));
        check("a", map, 4, None);
        keep("a", map, 7, "a7, which is longer");
        check("a", map, 5, None);
        check("a", map, 7, Some("a7, which is longer"));
        let lens = ["a7, which is longer", "b5", "pod"].map(|text| text.len() + 1 + ENTRY_BYTES);
        let expect =
            MessageCacheCounts { hits: 5, misses: 5, bytes: lens.iter().sum::<usize>() as u64 };
        assert_eq!(cache.counts(), expect);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (cache, form) = (small(), form("core/v1.ConfigMap"));
        let most = |cache: &MessageCache| cache.shards[0].lock().most_bytes * SHARDS;
        for revision in 1..40 {
            for number in 0..FIT / 4 {
                let key = format!("o/{number:08}");
                let place = cache.place(key.as_bytes(), form, Revision::new(revision));
                let len = MESSAGE_BYTES / 2 * usize::try_from(revision).unwrap() / 4;
                cache.keep(place, &vec![0; len].into());
            }
            assert!(cache.counts().bytes as usize <= most(&cache));
        }
        scan(&cache, form, 0..10 * FIT);
        assert!(cache.counts().bytes as usize <= most(&cache));
        for shard in &cache.shards {
            let shard = shard.lock();
            let bytes: usize = shard.entries.values().map(CachedMessage::bytes).sum();
            assert_eq!((shard.ring.len(), bytes as u64), (shard.entries.len(), shard.counts.bytes));
        }
        let place = cache.place(b"huge", form, Revision::new(1));
        cache.keep(place, &vec![0; most(&cache) / SHARDS / 2].into());
        assert_eq!(cache.read(place, Bytes::len), None, "one object does not drive out others");
    }

    #[test]
    fn a_long_scan_drives_out_neither_what_is_used_nor_itself() {
        let (cache, form) = (small(), form("core/v1.ConfigMap"));
        let used = 0..FIT / 4;
        for _ in 0..8 {
            scan(&cache, form, used.clone());
        }
        // One list of what is twenty times as large.
        scan(&cache, form, FIT..21 * FIT);
        let hits = scan(&cache, form, used.clone());
        assert!(hits >= used.len() * 9 / 10, "{hits} of {}", used.len());
        // Lists of what is a little too large find a part of it each time.
        let cache = small();
        let hits: Vec<usize> = (0..6).map(|_| scan(&cache, form, 0..FIT * 3 / 2)).collect();
        assert!(hits[1..].iter().all(|hits| *hits >= FIT / 2), "{hits:?} of {FIT}");
    }

    #[test]
    fn what_is_not_used_gives_way_in_time() {
        let (cache, form) = (small(), form("core/v1.ConfigMap"));
        scan(&cache, form, 0..FIT);
        let fresh = 2 * FIT..5 * FIT / 2;
        let hits: Vec<usize> = (0..100).map(|_| scan(&cache, form, fresh.clone())).collect();
        assert!(*hits.last().unwrap() >= fresh.len() * 9 / 10, "{hits:?} of {}", fresh.len());
    }
}
