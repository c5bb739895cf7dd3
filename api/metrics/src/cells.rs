//! Cells: numbers that threads add to at the same time, each thread in a part of its own.
//!
//! Invariants: the value of a cell is the sum over all parts; a part is made when the first thread
//! adds something in it, and belongs to that thread for ever: only its owner writes it, so that it
//! needs no atomic addition. A thread that meets another one's part adds to the part that all share.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

/// Parts that have an owner, at most.
const PARTS: usize = 12;

/// Some numbers that begin at zero.
#[derive(Debug)]
pub(crate) struct Cells {
    len: usize,
    owned: [OnceLock<Part>; PARTS],
    shared: OnceLock<Box<[AtomicU64]>>,
}

/// The numbers of one thread.
#[derive(Debug)]
struct Part {
    owner: ThreadId,
    numbers: Box<[AtomicU64]>,
}

/// The numbers that this thread adds to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCells<'c> {
    numbers: &'c [AtomicU64],
    is_shared: bool,
}

impl Cells {
    /// So many numbers.
    pub(crate) fn new(len: usize) -> Self {
        Self { len, owned: Default::default(), shared: OnceLock::new() }
    }

    /// The numbers that this thread adds to.
    pub(crate) fn own(&self) -> OwnCells<'_> {
        let (place, this) = this_thread();
        let part = self.owned[place].get_or_init(|| Part { owner: this, numbers: zeros(self.len) });
        if part.owner == this {
            return OwnCells { numbers: &part.numbers, is_shared: false };
        }
        OwnCells { numbers: self.shared.get_or_init(|| zeros(self.len)), is_shared: true }
    }

    /// The value of one number.
    pub(crate) fn sum(&self, index: usize) -> u64 {
        self.values(index).fold(0, u64::wrapping_add)
    }

    /// The value of one number that holds floating-point values.
    pub(crate) fn sum_f64(&self, index: usize) -> f64 {
        self.values(index).map(f64::from_bits).sum()
    }

    fn values(&self, index: usize) -> impl Iterator<Item = u64> {
        let owned = self.owned.iter().filter_map(OnceLock::get).map(|part| &part.numbers);
        let parts = owned.chain(self.shared.get());
        parts.map(move |numbers| numbers[index].load(Ordering::Relaxed))
    }
}

impl OwnCells<'_> {
    /// Adds to a number.
    pub(crate) fn add(self, index: usize, count: u64) {
        let number = &self.numbers[index];
        if self.is_shared {
            number.fetch_add(count, Ordering::Relaxed);
        } else {
            number.store(number.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
        }
    }

    /// Adds to a number that holds floating-point values.
    pub(crate) fn add_f64(self, index: usize, value: f64) {
        let number = &self.numbers[index];
        let add = |now: u64| (f64::from_bits(now) + value).to_bits();
        if self.is_shared {
            // The closure always gives a value, so this cannot fail.
            let _ = number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(add(now)));
        } else {
            number.store(add(number.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    }
}

fn zeros(len: usize) -> Box<[AtomicU64]> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}

/// The place of this thread's parts. Threads that were made one after the other have different ones.
fn this_thread() -> (usize, ThreadId) {
    thread_local! {
        static THIS: Cell<Option<(usize, ThreadId)>> = const { Cell::new(None) };
    }
    THIS.with(|this| {
        this.get().unwrap_or_else(|| {
            let id = thread::current().id();
            let mut number = ThreadNumber(0);
            id.hash(&mut number);
            let place = usize::try_from(number.finish()).unwrap_or_default() % PARTS;
            this.set(Some((place, id)));
            (place, id)
        })
    })
}

/// Reads the number of a thread off its hash.
struct ThreadNumber(u64);

impl Hasher for ThreadNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let cells = Cells::new(2);
        thread::scope(|scope| {
            // More than there are parts, so that some share one.
            for _ in 0..3 * PARTS {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        cells.own().add(0, 1);
                        cells.own().add_f64(1, 0.5);
                    }
                });
            }
        });
        assert_eq!((cells.sum(0), cells.sum_f64(1)), (36_000, 18_000.0));
    }
}
