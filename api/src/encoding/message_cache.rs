//! A cache of messages: the protobuf forms of stored objects, made once a version and shared by all
//! who read them; and the sizes of more of them than there is room for.
//!
//! Invariants: what is found was made of the version that is asked for, since a version never
//! changes; objects are told apart by 64 bits of a hash that the server seeds at random, and by the
//! revision, which two objects have in common only where one transaction wrote both. Bounded in bytes; a newer version takes the place of an older one. A newcomer takes the
//! place of what has not been used for long, and not each one does, so reading a collection that is
//! larger than the cache does not drive out what is used, nor its own beginning. Split into parts,
//! of which each is locked for a look-up and, where the reader copies, for that.

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;

use bytes::Bytes;
use quorate_schema::TypeId;
use quorate_store::Revision;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::message_sizes::MessageSizes;
use super::shards::{SHARDS, Shards};

/// Of the bytes of the cache this part is for sizes alone.
const SIZES_PART: usize = 8;
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
    shards: Shards<Shard>,
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
        Self {
            shards: Shards::new(|| Shard { most_bytes, ..Shard::default() }),
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
        let mut shard = self.shards.lock(place.hash);
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

    /// Has the memory of some messages fetched side by side, for those that read them next.
    pub(crate) fn fetch(&self, places: &[MessagePlace]) {
        let shards = self.shards.lock_together(places.iter().map(|place| place.hash));
        let entry = |place: &MessagePlace| shards.get(place.hash)?.entries.get(&place.hash);
        let entries: SmallVec<[Option<&CachedMessage>; 16]> = places.iter().map(entry).collect();
        for entry in entries {
            black_box(entry.and_then(|entry| entry.message.first().copied()));
        }
    }

    /// The same of their sizes.
    pub(crate) fn fetch_sizes(&self, places: &[MessagePlace]) {
        self.sizes.fetch(places.iter().map(|place| place.hash));
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
        if !self.shards.lock(place.hash).wants(place, bytes) {
            return None;
        }
        let message = make();
        self.shards.lock(place.hash).keep(place, &message);
        Some(message)
    }

    /// What has been counted.
    pub(crate) fn counts(&self) -> MessageCacheCounts {
        let mut sum = MessageCacheCounts::default();
        for shard in self.shards.each() {
            let counts = shard.counts;
            sum.hits += counts.hits;
            sum.misses += counts.misses;
            sum.bytes += counts.bytes;
        }
        sum
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
