//! Cells: numbers that threads add to at the same time, each thread in a part of its own.
//!
//! Invariants: the value of a cell is the sum over all parts; a part is made when the first of its
//! threads adds something, so a series that one thread counts has one.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Parts that a series has at most; threads with the same number modulo this share one.
const PARTS: usize = 8;

/// Some numbers that begin at zero.
#[derive(Debug)]
pub(crate) struct Cells {
    len: usize,
    parts: [OnceLock<Box<[AtomicU64]>>; PARTS],
}

impl Cells {
    /// So many numbers.
    pub(crate) fn new(len: usize) -> Self {
        Self { len, parts: Default::default() }
    }

    /// The numbers that this thread adds to.
    pub(crate) fn own(&self) -> &[AtomicU64] {
        self.parts[part()].get_or_init(|| (0..self.len).map(|_| AtomicU64::new(0)).collect())
    }

    /// The value of one number.
    pub(crate) fn sum(&self, index: usize) -> u64 {
        self.values(index).fold(0, u64::wrapping_add)
    }

    /// The value of one number that holds floating-point values.
    pub(crate) fn sum_f64(&self, index: usize) -> f64 {
        self.values(index).map(f64::from_bits).sum()
    }

    /// Sets all to zero.
    pub(crate) fn reset(&self) {
        for number in self.parts.iter().filter_map(OnceLock::get).flatten() {
            number.store(0, Ordering::Relaxed);
        }
    }

    fn values(&self, index: usize) -> impl Iterator<Item = u64> {
        let parts = self.parts.iter().filter_map(OnceLock::get);
        parts.map(move |part| part[index].load(Ordering::Relaxed))
    }
}

/// Adds to a number that holds floating-point values.
pub(crate) fn add_f64(number: &AtomicU64, value: f64) {
    let mut now = number.load(Ordering::Relaxed);
    loop {
        let next = (f64::from_bits(now) + value).to_bits();
        match number.compare_exchange_weak(now, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => now = other,
        }
    }
}

/// The part of this thread. Threads that were made one after the other have different ones.
fn part() -> usize {
    thread_local! {
        static PART: Cell<usize> = const { Cell::new(PARTS) };
    }
    PART.with(|part| {
        if part.get() == PARTS {
            let mut number = ThreadNumber(0);
            thread::current().id().hash(&mut number);
            part.set(usize::try_from(number.finish()).unwrap_or_default() % PARTS);
        }
        part.get()
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
            for _ in 0..10 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        cells.own()[0].fetch_add(1, Ordering::Relaxed);
                        add_f64(&cells.own()[1], 0.5);
                    }
                });
            }
        });
        assert_eq!((cells.sum(0), cells.sum_f64(1)), (10_000, 5_000.0));
        cells.reset();
        assert_eq!((cells.sum(0), cells.sum_f64(1)), (0, 0.0));
    }
}
