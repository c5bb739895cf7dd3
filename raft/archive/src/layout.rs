//! The layout of a table: which keys its records have.
//!
//! A key is the slice's number (u32 BE), the section, and what the section is ordered by. So the
//! bulks of one slice overlap only with each other, and merging them leaves other slices alone.
//! Invariants: the keys of a section sort as what they are made of does. Versions have the key with
//! each zero byte written as `00 FF` and ended by `00 00`, so that no key is the beginning of
//! another, and the revision (u64 BE).

use quorate_store::Revision;

/// What a slice is about.
const INFO: u8 = 0;
/// Transactions, by revision.
const TRANSACTIONS: u8 = 1;
/// Versions that the slice's transactions made, by key and revision.
const VERSIONS: u8 = 2;
/// What each key that they changed held before, by key.
const BASES: u8 = 3;

/// A section whose records have entries, or another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// See [`version`].
    Versions,
    /// See [`base`].
    Bases,
    /// What has no entries.
    Other,
}

/// The section of a record's key.
pub(crate) fn section_of(key: &[u8]) -> Section {
    match key.get(4) {
        Some(&VERSIONS) => Section::Versions,
        Some(&BASES) => Section::Bases,
        _ => Section::Other,
    }
}

fn section(slice: u32, section: u8) -> Vec<u8> {
    let mut key = Vec::with_capacity(96);
    key.extend_from_slice(&slice.to_be_bytes());
    key.push(section);
    key
}

/// The record about the slice itself.
pub(crate) fn info(slice: u32) -> Vec<u8> {
    section(slice, INFO)
}

/// Whether a key is that of a record about a slice.
pub(crate) fn is_info(key: &[u8]) -> bool {
    key.get(4) == Some(&INFO)
}

/// The transaction of a revision.
pub(crate) fn transaction(slice: u32, revision: Revision) -> Vec<u8> {
    let mut key = section(slice, TRANSACTIONS);
    key.extend_from_slice(&revision.get().to_be_bytes());
    key
}

/// Behind the last transaction.
pub(crate) fn transactions_end(slice: u32) -> Vec<u8> {
    section(slice, VERSIONS)
}

/// The version of a key that a revision made.
pub(crate) fn version(slice: u32, key: &[u8], revision: Revision) -> Vec<u8> {
    let mut bytes = section(slice, VERSIONS);
    escape(key, &mut bytes);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&revision.get().to_be_bytes());
    bytes
}

/// Where the versions of keys that are not before this one begin.
pub(crate) fn versions_from(slice: u32, key: &[u8]) -> Vec<u8> {
    let mut bytes = section(slice, VERSIONS);
    escape(key, &mut bytes);
    bytes
}

/// Behind the last version.
pub(crate) fn versions_end(slice: u32) -> Vec<u8> {
    section(slice, BASES)
}

/// What a key held before the slice.
pub(crate) fn base(slice: u32, key: &[u8]) -> Vec<u8> {
    let mut bytes = section(slice, BASES);
    bytes.extend_from_slice(key);
    bytes
}

/// Behind the last of them.
pub(crate) fn bases_end(slice: u32) -> Vec<u8> {
    section(slice, BASES + 1)
}

/// The revision in a transaction's or a version's key.
pub(crate) fn revision_of(key: &[u8]) -> Option<Revision> {
    key.last_chunk().map(|bytes| Revision::new(u64::from_be_bytes(*bytes)))
}

/// The key in a version's key, as it is written there.
pub(crate) fn escaped_key_of(key: &[u8]) -> Option<&[u8]> {
    key.get(5..key.len().checked_sub(10)?)
}

/// The key in a base's key.
pub(crate) fn base_key_of(key: &[u8]) -> Option<&[u8]> {
    key.get(5..)
}

/// Appends the key as the versions have it.
pub(crate) fn escape(key: &[u8], into: &mut Vec<u8>) {
    for byte in key {
        into.push(*byte);
        if *byte == 0 {
            into.push(0xff);
        }
    }
}

/// The key that the versions have so.
pub(crate) fn unescape(escaped: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(byte) = bytes.next() {
        key.push(*byte);
        if *byte == 0 {
            bytes.next();
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_key_and_revision() {
        let keys: [&[u8]; 7] = [b"a", b"a\0", b"a\0\0", b"a\0\x01", b"a\x01", b"aa", b"b"];
        let mut versions = Vec::new();
        for key in keys {
            versions.push(versions_from(7, key));
            for revision in [0, 1, 255, 256, u64::MAX] {
                let version = version(7, key, Revision::new(revision));
                assert_eq!(revision_of(&version), Some(Revision::new(revision)));
                let mut escaped = Vec::new();
                escape(key, &mut escaped);
                assert_eq!(escaped_key_of(&version), Some(&escaped[..]));
                assert_eq!(unescape(&escaped), key);
                versions.push(version);
            }
        }
        versions.push(versions_end(7));
        assert!(versions.is_sorted());
    }

    #[test]
    fn sections_follow_each_other() {
        let one = Revision::new(1);
        let keys = [
            info(1),
            transaction(1, one),
            transactions_end(1),
            version(1, b"\xff", one),
            versions_end(1),
            base(1, b"\xff"),
            bases_end(1),
            info(2),
        ];
        assert!(keys.is_sorted());
        assert_eq!(base_key_of(&base(1, b"key")), Some(&b"key"[..]));
    }
}
