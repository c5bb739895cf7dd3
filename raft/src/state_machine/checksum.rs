//! The checksum of all objects, kept up to date for the price of the objects that change.
//!
//! Invariant: equal sets of (key, created, modified, value) have equal checksums whatever the order
//! in which they came to be; it is the sum of one number per object. It finds damage and
//! divergence; it is no defence against an adversary.

use quorate_store::Entry;
use serde::{Deserialize, Serialize};

/// The checksum of a set of objects. The default is the empty set's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds an object that is not in the set.
    pub(super) fn add(&mut self, key: &[u8], entry: &Entry) {
        self.0 = self.0.wrapping_add(of_object(key, entry));
    }

    /// Takes an object of the set out.
    pub(super) fn remove(&mut self, key: &[u8], entry: &Entry) {
        self.0 = self.0.wrapping_sub(of_object(key, entry));
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

fn of_object(key: &[u8], entry: &Entry) -> u64 {
    let value = crc32c::crc32c(&entry.value);
    let key = crc32c::crc32c_append(value, key);
    let content = (u64::from(key) << 32) | u64::from(value);
    mix(mix(mix(content).wrapping_add(entry.created.get())).wrapping_add(entry.modified.get()))
}

/// Spreads every input bit over all output bits (a multiply and xor-shift finalizer), so that sums
/// do not cancel out.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use quorate_store::Revision;

    fn entry(value: &'static str, created: u64, modified: u64) -> Entry {
        Entry {
            value: Bytes::from(value),
            created: Revision::new(created),
            modified: Revision::new(modified),
        }
    }

    #[test]
    fn the_order_does_not_matter_and_every_part_does() {
        let mut one = Checksum::default();
        one.add(b"a", &entry("x", 1, 1));
        one.add(b"b", &entry("y", 2, 3));
        let mut other = Checksum::default();
        other.add(b"b", &entry("y", 2, 3));
        other.add(b"c", &entry("z", 4, 4));
        other.add(b"a", &entry("x", 1, 1));
        assert_ne!(one, other);
        other.remove(b"c", &entry("z", 4, 4));
        assert_eq!(one, other);

        let base = entry("x", 1, 2);
        let mut seen = vec![];
        for (key, entry) in [
            ("a", base.clone()),
            ("b", base),
            ("a", entry("y", 1, 2)),
            ("a", entry("x", 2, 2)),
            ("a", entry("x", 1, 3)),
        ] {
            let mut checksum = Checksum::default();
            checksum.add(key.as_bytes(), &entry);
            assert!(!seen.contains(&checksum.get()), "{key} {entry:?}");
            seen.push(checksum.get());
        }
    }
}
