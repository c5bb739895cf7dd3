//! Ids of traces and spans: a sequence that others cannot tell from random, from one random key.
//!
//! Invariant: no request asks for randomness; two ids of a process differ, but for chance.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::{SpanId, TraceId};

/// The distance between places of the sequence: odd, so that all 2^64 come before one returns.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The ids of one process.
#[derive(Debug)]
pub(crate) struct Ids {
    key: u64,
    next: AtomicU64,
}

impl Ids {
    /// The ids of this random key.
    pub(crate) fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        let (low, high) = (key as u64, (key >> 64) as u64);
        Self { key: high, next: AtomicU64::new(low) }
    }

    pub(crate) fn span(&self) -> SpanId {
        SpanId(self.at(self.next.fetch_add(STEP, Ordering::Relaxed)).max(1))
    }

    /// What the beginning of a trace needs, by one access to what all threads share.
    pub(crate) fn numbers(&self) -> Numbers {
        const COUNT: u64 = 4;
        let first = self.next.fetch_add(STEP.wrapping_mul(COUNT), Ordering::Relaxed);
        let place = |at: u64| self.at(first.wrapping_add(STEP.wrapping_mul(at)));
        Numbers([0, 1, 2, 3].map(place))
    }

    /// The random number at a place of the sequence.
    fn at(&self, place: u64) -> u64 {
        mix(place ^ self.key.rotate_left(17))
    }
}

/// The random numbers of a trace that begins: for the sampler, its id, and its first span.
pub(crate) struct Numbers([u64; 4]);

impl Numbers {
    pub(crate) fn random(&self) -> u64 {
        self.0[0]
    }

    pub(crate) fn trace(&self) -> TraceId {
        TraceId((u128::from(self.0[1]) << 64 | u128::from(self.0[2])).max(1))
    }

    pub(crate) fn span(&self) -> SpanId {
        SpanId(self.0[3].max(1))
    }
}

/// The finalizer of SplitMix64, twice: each bit depends on each bit.
fn mix(number: u64) -> u64 {
    let once = |mut number: u64| {
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    };
    once(once(number))
}
