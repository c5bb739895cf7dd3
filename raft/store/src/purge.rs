//! A purge: what was to be deleted from the past for good, as it is replicated.
//!
//! A purge is a record under a key that begins with [`PURGES`]; the store itself gives it no meaning.
//! It takes the contents of versions, not the fact that there were some: when an object changed and
//! by whom stays known. Invariants: whether a version is purged follows from the record, the key and
//! the version's revision alone, so every member and every part of an archive decides the same
//! without asking another; what lived when the purge was asked for is never purged by it, nor is
//! anything newer. Only keys whose values are never empty can be purged: a purged version is an
//! entry without a value.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Revision;

/// The prefix of the keys of purges.
pub const PURGES: &[u8] = b"u/";
/// Purges that there may be at a time.
pub const MAX_PURGES: usize = 1000;
/// Living objects that one record names at most.
pub const MAX_PURGE_KEPT: usize = 4096;

/// A record of what was purged, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// The first key whose versions are purged.
    pub from: Bytes,
    /// The key behind the last one.
    pub to: Bytes,
    /// The newest revision whose versions may be purged: the newest one when it was asked for.
    pub upto: Revision,
    /// The versions that lived at that revision, which stay.
    pub kept: BTreeMap<Bytes, Revision>,
    /// When it was asked for, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Who asked for it.
    pub user: String,
    /// Why, in the words of the user.
    pub reason: String,
}

/// The forms that records have had; only ever added to.
#[derive(Serialize, Deserialize)]
enum EncodedPurge {
    First(Purge),
}

impl Purge {
    /// The record as bytes.
    ///
    /// # Panics
    /// Never: a vector grows, and the record has no part that cannot be encoded.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let record = EncodedPurge::First(self.clone());
        postcard::to_stdvec(&record).expect("a vector grows and no part fails").into()
    }

    /// The record in these bytes; `None` when they are no record that this release knows.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let EncodedPurge::First(purge) = postcard::from_bytes(bytes).ok()?;
        Some(purge)
    }

    /// Whether it is about this key.
    #[must_use]
    pub fn names(&self, key: &[u8]) -> bool {
        self.from <= key && key < self.to
    }

    /// Whether it is about a key with this prefix.
    #[must_use]
    pub fn names_some_of(&self, prefix: &[u8]) -> bool {
        self.to.as_ref() > prefix && (self.from.starts_with(prefix) || self.from <= prefix)
    }

    /// Whether the version that a revision made of a key is purged.
    #[must_use]
    pub fn takes(&self, key: &[u8], modified: Revision) -> bool {
        modified <= self.upto && self.names(key) && self.kept.get(key) != Some(&modified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purge() -> Purge {
        Purge {
            from: "o/a/".into(),
            to: "o/a0".into(),
            upto: Revision::new(9),
            kept: BTreeMap::from([("o/a/x".into(), Revision::new(7))]),
            time_ms: 1,
            user: "ann".to_owned(),
            reason: "leaked".to_owned(),
        }
    }

    #[test]
    fn a_record_reads_back() {
        let bytes = purge().encode();
        assert_eq!(Purge::decode(&bytes), Some(purge()));
        assert_eq!(Purge::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Purge::decode(b"\x07"), None);
    }

    #[test]
    fn what_lived_and_what_is_newer_stays() {
        let check = |key: &str, modified: u64, expect: bool| {
            assert_eq!(purge().takes(key.as_bytes(), Revision::new(modified)), expect, "{key}");
        };
        check("o/a/x", 3, true);
        check("o/a/x", 7, false);
        check("o/a/x", 8, true);
        check("o/a/x", 10, false);
        check("o/a/y", 7, true);
        check("o/a/y", 9, true);
        check("o/a", 3, false);
        check("o/a0", 3, false);
        check("o/b/x", 3, false);
    }

    #[test]
    fn some_keys_of_a_prefix() {
        let check = |prefix: &str, expect: bool| {
            assert_eq!(purge().names_some_of(prefix.as_bytes()), expect, "{prefix}");
        };
        check("", true);
        check("o/", true);
        check("o/a/", true);
        check("o/a/x", true);
        check("o/b", false);
        check("o/a0", false);
        check("n/", false);
        check("p", false);
    }
}
