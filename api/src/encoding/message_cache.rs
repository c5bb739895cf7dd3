//! A cache of messages: the protobuf forms of stored objects, made once a version and shared by all
//! who read them; and the sizes of more of them than there is room for.
//!
//! Invariants: what is found was made of the version that is asked for, since a version never
//! changes; objects are told apart by 64 bits of a hash that the server seeds at random, and by the
//! revision, which two objects have in common only where one transaction wrote both. Bounded in bytes; a newer version takes the place of an older one. A newcomer takes the
//! place of what has not been used for long, and not each one does, so reading a collection that is
//! larger than the cache does not drive out what is used, nor its own beginning. Split into parts,
//! of which each is locked for a look-up and, where the reader copies, for that.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_schema::TypeId;
use quorate_store::Revision;
use rustc_hash::FxHashMap;

use super::message_sizes::MessageSizes;

/// Of the bytes of the cache this part is for sizes alone.
const SIZES_PART: usize = 8;
/// Independent parts.
const SHARDS: usize = 64;
/// Bytes that an entry takes besides its message.
const ENTRY_BYTES: usize = 112;
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
    /// Bytes of what is kept, with what keeping it takes.
    pub(crate) bytes: u64,
}

/// The cache.
pub(crate) struct MessageCache {
    shards: Box<[Mutex<Shard>]>,
    sizes: MessageSizes,
    /// Keyed at random, so that no client can choose keys that fall together.
    hasher: RandomState,
}

/// Where a message would be.
#[derive(Clone, Copy)]
pub(crate) struct MessagePlace {
    /// Of the key and the form.
    hash: u64,
    revision: Revision,
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
    revision: Revision,
    message: Bytes,
    uses: u8,
}

impl MessageCache {
    /// A cache of so many bytes, which are taken as messages come.
    pub(crate) fn with_bytes(bytes: usize) -> Self {
        let sizes = bytes / SIZES_PART;
        let most_bytes = (bytes - sizes) / SHARDS;
        let shard = || Mutex::new(Shard { most_bytes, ..Shard::default() });
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            sizes: MessageSizes::with_bytes(sizes),
            hasher: RandomState::default(),
        }
    }

    /// The place of an object's message at a version.
    pub(crate) fn place(&self, key: &[u8], form: MessageForm, revision: Revision) -> MessagePlace {
        MessagePlace { hash: self.hasher.hash_one((key, form)), revision }
    }

    /// What `take` makes of a message that is there; it is called under a lock, so it may copy what
    /// is short and no more.
    pub(crate) fn read<T>(&self, place: MessagePlace, take: impl FnOnce(&Bytes) -> T) -> Option<T> {
        let mut shard = self.shard(place).lock();
        let Shard { entries, counts, .. } = &mut *shard;
        let found = entries.get_mut(&place.hash);
        let Some(entry) = found.filter(|entry| entry.revision == place.revision) else {
            counts.misses += 1;
            return None;
        };
        counts.hits += 1;
        entry.uses = MOST_USES.min(entry.uses + 1);
        Some(take(&entry.message))
    }

    /// The size of a message, whether that is kept or only its size is.
    pub(crate) fn size(&self, place: MessagePlace) -> Option<usize> {
        if let Some(size) = self.sizes.get(place.hash, place.revision) {
            return Some(size as usize);
        }
        let size = self.read(place, Bytes::len)?;
        self.note_size(place, size);
        Some(size)
    }

    /// Notes the size of a message for those that measure it again.
    pub(crate) fn note_size(&self, place: MessagePlace, size: usize) {
        if let Ok(size) = u32::try_from(size) {
            self.sizes.note(place.hash, place.revision, size);
        }
    }

    /// Keeps a message of so many bytes, if there is room for it: then it is made. A newer version
    /// stays.
    pub(crate) fn keep(
        &self,
        place: MessagePlace,
        size: usize,
        make: impl FnOnce() -> Bytes,
    ) -> Option<Bytes> {
        let bytes = size + ENTRY_BYTES;
        if !self.shard(place).lock().wants(place, bytes) {
            return None;
        }
        let message = make();
        self.shard(place).lock().keep(place, &message);
        Some(message)
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

    fn shard(&self, place: MessagePlace) -> &Mutex<Shard> {
        // The map in a shard takes the low bits.
        &self.shards[(place.hash >> 48) as usize % SHARDS]
    }
}

impl Shard {
    /// Whether a message would be kept, whose entry has so many bytes. Makes room for a newcomer.
    fn wants(&mut self, place: MessagePlace, bytes: usize) -> bool {
        match self.entries.get(&place.hash) {
            Some(other) => other.revision < place.revision,
            None if bytes > self.most_bytes / LARGEST_PART => false,
            None => {
                if !self.has_room(bytes) && self.is_considered() {
                    self.make_room(bytes);
                }
                self.has_room(bytes)
            }
        }
    }

    fn keep(&mut self, place: MessagePlace, message: &Bytes) {
        let entry = CachedMessage { revision: place.revision, message: message.clone(), uses: 0 };
        let bytes = entry.bytes();
        let has_room = self.has_room(bytes);
        match self.entries.get_mut(&place.hash) {
            Some(other) if other.revision >= place.revision => {}
            Some(other) => {
                self.counts.bytes -= other.bytes() as u64;
                self.counts.bytes += bytes as u64;
                *other = CachedMessage { uses: other.uses, ..entry };
                self.shrink();
            }
            None if has_room => {
                self.counts.bytes += bytes as u64;
                self.entries.insert(place.hash, entry);
                self.ring.push(place.hash);
            }
            None => {}
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
    fn bytes(&self) -> usize {
        self.message.len() + ENTRY_BYTES
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
        let kept = FIT * (MESSAGE_BYTES + ENTRY_BYTES + 10);
        MessageCache::with_bytes(kept * SIZES_PART / (SIZES_PART - 1))
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
                None => drop(cache.keep(place, MESSAGE_BYTES, || vec![0; MESSAGE_BYTES].into())),
            }
        }
        hits
    }

    #[test]
    fn only_the_version_that_is_asked_for_is_found() {
        let (cache, [map, pod]) = (MessageCache::with_bytes(1 << 20), ["ConfigMap", "Pod"]);
        let [map, pod] = [map, pod].map(|kind| form(&format!("core/v1.{kind}")));
        let keep = |key: &str, form, revision, message: &'static str| {
            let place = cache.place(key.as_bytes(), form, Revision::new(revision));
            cache.keep(place, message.len(), || Bytes::from_static(message.as_bytes()));
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
        let lens = ["a7, which is longer", "b5", "pod"].map(|text| text.len() + ENTRY_BYTES);
        let expect =
            MessageCacheCounts { hits: 5, misses: 5, bytes: lens.iter().sum::<usize>() as u64 };
        assert_eq!(cache.counts(), expect);
    }

    #[test]
    fn the_size_of_what_has_no_room_is_known() {
        let (cache, form) = (small(), form("core/v1.ConfigMap"));
        let place = |number: usize, revision| {
            cache.place(format!("o/{number:08}").as_bytes(), form, Revision::new(revision))
        };
        scan(&cache, form, 0..FIT / 4);
        assert_eq!(cache.size(place(7, 1)), Some(MESSAGE_BYTES), "its message is kept");
        assert_eq!(cache.size(place(FIT, 1)), None);
        cache.note_size(place(FIT, 1), 33);
        assert_eq!(cache.size(place(FIT, 1)), Some(33));
        assert_eq!(cache.size(place(FIT, 2)), None);
        assert_eq!(cache.size(place(7, 2)), None);
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
                cache.keep(place, len, || vec![0; len].into());
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
        let huge = most(&cache) / SHARDS / 2;
        assert_eq!(cache.keep(place, huge, || vec![0; huge].into()), None);
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
