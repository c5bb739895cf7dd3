//! The faults of a [`MemoryDisk`](super::MemoryDisk): a plain description that tests fill in, and
//! the random numbers that decide a crash from a seed.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Faults still to come. The default is a disk without faults.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    /// Mutating calls that still work before the power is cut.
    pub(super) crash_after: Option<u64>,
    /// Syncs of files that still work before one fails.
    pub(super) fail_sync_after: Option<u64>,
    /// The folder in which the next sync of a file fails.
    pub(super) failing: Option<PathBuf>,
    /// Bytes that all files together may take.
    pub(super) capacity: Option<usize>,
    /// Time that each sync of a file takes.
    pub(super) sync_delay: Duration,
}

impl Faults {
    /// Counts one mutating call. True when the power is cut during this one.
    pub(super) fn crashes_now(&mut self) -> bool {
        counted_down(&mut self.crash_after)
    }

    /// Counts one sync of a file in this folder. True when it is the one that fails.
    pub(super) fn sync_fails_now(&mut self, folder: Option<&Path>) -> bool {
        let fails_here = folder.is_some() && self.failing.as_deref() == folder;
        self.failing.take_if(|_| fails_here);
        counted_down(&mut self.fail_sync_after) || fails_here
    }
}

fn counted_down(counter: &mut Option<u64>) -> bool {
    match counter {
        Some(0) => {
            *counter = None;
            true
        }
        Some(left) => {
            *left -= 1;
            false
        }
        None => false,
    }
}

/// Deterministic random (splitmix64): the same seed gives the same crash.
#[derive(Debug)]
pub(super) struct SeededRandom(u64);

impl SeededRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which must not be 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).expect("the remainder is below a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_happens_once_after_its_count() {
        let mut faults = Faults { crash_after: Some(2), ..Faults::default() };
        let seen: Vec<bool> = (0..5).map(|_| faults.crashes_now()).collect();
        assert_eq!(seen, [false, false, true, false, false]);
    }

    #[test]
    fn dice_repeat_by_seed() {
        let roll = |seed| {
            let mut random = SeededRandom::new(seed);
            (0..20).map(|_| random.below(100)).collect::<Vec<_>>()
        };
        assert_eq!(roll(7), roll(7));
        assert_ne!(roll(7), roll(8));
    }
}
