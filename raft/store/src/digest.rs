//! A fast 64-bit hash with a fixed definition, to compare states across nodes, processes and
//! releases.
//!
//! Invariant: the function never changes; snapshot transfer relies on it. Detects accidents, not
//! attackers.

use crate::Entry;

/// An odd constant with well-spread bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A running hash over words, byte strings and entries, in the order given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Digest {
    /// The hash of nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(MULTIPLIER)
    }

    /// Takes in a number.
    pub fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(MULTIPLIER);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Takes in a byte string, its length included.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }

    /// Takes in a key and what it holds.
    pub fn entry(&mut self, key: &[u8], entry: &Entry) {
        self.bytes(key);
        self.bytes(&entry.value);
        self.word(entry.created.get());
        self.word(entry.modified.get());
    }

    /// The hash of everything taken in.
    #[must_use]
    pub fn finish(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(MULTIPLIER);
        mixed ^ (mixed >> 31)
    }
}
