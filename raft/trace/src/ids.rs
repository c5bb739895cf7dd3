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

    /// A random number.
    pub(crate) fn number(&self) -> u64 {
        mix(self.next.fetch_add(STEP, Ordering::Relaxed) ^ self.key.rotate_left(17))
    }

    pub(crate) fn span(&self) -> SpanId {
        SpanId(self.number().max(1))
    }

    pub(crate) fn trace(&self) -> TraceId {
        let (high, low) = (self.number(), self.number());
        TraceId((u128::from(high) << 64 | u128::from(low)).max(1))
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
