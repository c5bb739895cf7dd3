//! Shards: parts of a table by hash, each with a lock of its own.
//!
//! Invariant: who holds several locks has taken them in ascending order.

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

/// Independent parts: one for each bit of a set.
pub(super) const SHARDS: usize = u64::BITS as usize;

/// The parts.
pub(super) struct Shards<T>(Box<[Mutex<T>]>);

/// Some parts, all of them locked.
pub(super) struct LockedShards<'s, T> {
    /// Their numbers.
    set: u64,
    guards: SmallVec<[MutexGuard<'s, T>; 16]>,
}

impl<T> Shards<T> {
    pub(super) fn new(make: impl Fn() -> T) -> Self {
        Self((0..SHARDS).map(|_| Mutex::new(make())).collect())
    }

    /// The part of a hash.
    pub(super) fn lock(&self, hash: u64) -> MutexGuard<'_, T> {
        self.0[number(hash)].lock()
    }

    /// The parts of some hashes, locked together: then one look-up does not wait for the one
    /// before, as it would at a lock between them.
    pub(super) fn lock_together(&self, hashes: impl Iterator<Item = u64>) -> LockedShards<'_, T> {
        let set = hashes.fold(0, |set, hash| set | 1 << number(hash));
        let numbers = (0..SHARDS).filter(|number| set >> number & 1 == 1);
        LockedShards { set, guards: numbers.map(|number| self.0[number].lock()).collect() }
    }

    /// Each part in turn.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(Mutex::lock)
    }
}

impl<T> LockedShards<'_, T> {
    /// The part of a hash; `None` where that is not among them.
    pub(super) fn get(&self, hash: u64) -> Option<&T> {
        let bit = 1_u64 << number(hash);
        if self.set & bit == 0 {
            return None;
        }
        self.guards.get((self.set & (bit - 1)).count_ones() as usize).map(|guard| &**guard)
    }
}

/// The part of a hash. Tables in a part take the low bits.
fn number(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_locked_together() {
        let shards = Shards::new(|| 0);
        let hash = |number: u64| number << 48 | 5;
        (0..SHARDS as u64).for_each(|number| *shards.lock(hash(number)) = number);
        assert_eq!(shards.each().map(|shard| *shard).sum::<u64>(), 63 * 32);
        let wanted = [63, 0, 7, 63, 40];
        let locked = shards.lock_together(wanted.into_iter().map(hash));
        for number in 0..SHARDS as u64 {
            let expect = wanted.contains(&number).then_some(number);
            assert_eq!(locked.get(hash(number)).copied(), expect);
        }
        drop(locked);
        assert!(shards.lock_together(std::iter::empty()).get(5).is_none());
    }
}
