//! The sizes of messages of object versions, for lists that are measured before their first byte
//! and whose messages the cache has no room for.
//!
//! Invariants: bounded in bytes, which are taken as they are used; one line of memory for each
//! look-up. A size that is found is that of the version that was asked for, but for two keys of the
//! same 64 bits of a hash that the server has seeded at random.

use std::hint::black_box;

use quorate_store::Revision;

use super::shards::{SHARDS, Shards};

/// Sizes among which one gives way to a newcomer: those of one line of memory.
const SET_SIZES: usize = 4;
/// Two numbers for each size: the hash, and revision and size.
type SizeSet = [u64; 2 * SET_SIZES];

/// Sizes by the hashes of keys and forms.
pub(super) struct MessageSizes {
    shards: Shards<SizeShard>,
}

/// One part.
struct SizeShard {
    most_sets: usize,
    /// Nothing until the first size comes.
    sets: Vec<SizeSet>,
}

impl MessageSizes {
    /// Sizes that take so many bytes at most.
    pub(super) fn with_bytes(bytes: usize) -> Self {
        let most_sets = bytes / size_of::<SizeSet>() / SHARDS;
        Self { shards: Shards::new(|| SizeShard { most_sets, sets: Vec::new() }) }
    }

    /// The size of the message of a version.
    pub(super) fn get(&self, hash: u64, revision: Revision) -> Option<u32> {
        let shard = self.shards.lock(hash);
        let set = shard.sets.get(shard.place(hash)?)?;
        let found = set.chunks_exact(2).find(|pair| pair[0] == hash && is_of(pair[1], revision));
        found.map(|pair| low_half(pair[1]))
    }

    /// Notes the size of the message of a version, in the place of an older one of the same object,
    /// of none, or of any.
    pub(super) fn note(&self, hash: u64, revision: Revision, size: u32) {
        let mut shard = self.shards.lock(hash);
        if shard.sets.is_empty() {
            // Memory of zeros is taken when it is written.
            shard.sets = vec![SizeSet::default(); shard.most_sets];
        }
        let Some(set) = shard.place(hash).and_then(|place| shard.sets.get_mut(place)) else {
            return;
        };
        let at = |wanted: u64| set.chunks_exact(2).position(|pair| pair[0] == wanted);
        let any = (revision.get() % SET_SIZES as u64) as usize;
        let at = 2 * at(hash).or_else(|| at(0)).unwrap_or(any);
        set[at] = hash;
        set[at + 1] = u64::from(low_half(revision.get())) << 32 | u64::from(size);
    }

    /// Has the memory of some sizes fetched side by side, for those that get them next.
    pub(super) fn fetch(&self, hashes: impl Iterator<Item = u64> + Clone) {
        let shards = self.shards.lock_together(hashes.clone());
        for hash in hashes {
            let shard = shards.get(hash);
            let set = shard.and_then(|shard| shard.sets.get(shard.place(hash)?));
            black_box(set.map(|set| set[0]));
        }
    }
}

impl SizeShard {
    /// The set of a hash; `None` where there are no sets.
    fn place(&self, hash: u64) -> Option<usize> {
        usize::try_from(hash).unwrap_or_default().checked_rem(self.sets.len())
    }
}

fn is_of(number: u64, revision: Revision) -> bool {
    number >> 32 == u64::from(low_half(revision.get()))
}

#[expect(clippy::cast_possible_truncation, reason = "half of it is meant")]
fn low_half(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    #[test]
    fn a_size_is_found_for_its_version_only() {
        let sizes = MessageSizes::with_bytes(1 << 20);
        let check = |hash: u64, revision: u64, expect: Option<u32>| {
            assert_eq!(sizes.get(hash, Revision::new(revision)), expect, "{hash} {revision}");
        };
        check(7, 1, None);
        sizes.note(7, Revision::new(1), 100);
        sizes.note(7 << 50, Revision::new(1), 200);
        check(7, 1, Some(100));
        check(7 << 50, 1, Some(200));
        check(7, 2, None);
        check(8, 1, None);
        sizes.note(7, Revision::new(2), 300);
        check(7, 1, None);
        check(7, 2, Some(300));
    }

    #[test]
    fn what_is_noted_is_bounded_and_half_of_that_is_found() {
        let (most, hasher) = (1_usize << 20, RandomState::new());
        let sizes = MessageSizes::with_bytes(most);
        let room = (most / size_of::<SizeSet>() * SET_SIZES) as u32;
        let found = |count: u32| {
            let is_found = |number: &u32| {
                sizes.get(hasher.hash_one(number), Revision::new(9)) == Some(*number)
            };
            (0..count).filter(is_found).count()
        };
        (0..room / 2).for_each(|n| sizes.note(hasher.hash_one(n), Revision::new(9), n));
        assert!(found(room / 2) >= room as usize * 9 / 20, "{}", found(room / 2));
        (0..4 * room).for_each(|n| sizes.note(hasher.hash_one(n), Revision::new(9), n));
        assert!(found(4 * room) <= room as usize);
        let sets: usize = sizes.shards.each().map(|shard| shard.sets.len()).sum();
        assert!(sets * size_of::<SizeSet>() <= most);
    }

    #[test]
    fn without_room_nothing_is_noted() {
        let sizes = MessageSizes::with_bytes(0);
        sizes.note(7, Revision::new(1), 100);
        assert_eq!(sizes.get(7, Revision::new(1)), None);
    }
}
