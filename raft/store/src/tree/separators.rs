//! The keys between the children of an inner node.
//!
//! Invariant: every key of a child is below the separator behind the child, and every key of the
//! next one is not. Separators are as short as they can be, and belong to no object, so that they
//! keep none in memory. Immutable: versions of a node share them until its children split or merge.

use super::heads::{Heads, shared};

#[derive(Debug, Clone, Default)]
pub(super) struct Separators {
    heads: Heads,
    /// Where each ends in `bytes`.
    ends: Box<[u32]>,
    bytes: Box<[u8]>,
}

impl Separators {
    /// These, which ascend.
    pub(super) fn of(separators: &[&[u8]]) -> Self {
        let mut bytes = 0;
        let end = |separator: &&[u8]| {
            bytes += separator.len();
            u32::try_from(bytes).expect("a node has few keys, and each is shorter than 64 KiB")
        };
        Self {
            ends: separators.iter().map(end).collect(),
            bytes: separators.concat().into(),
            heads: Heads::of(separators.iter().copied()),
        }
    }

    /// The shortest key that is greater than `left` and not greater than `right`, which is greater
    /// than `left`.
    pub(super) fn between<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
        right.get(..=shared(left, right)).unwrap_or(right)
    }

    /// The child that a key belongs to.
    pub(super) fn child(&self, key: &[u8]) -> usize {
        match self.heads.search(key, |place| self.at(place)) {
            Ok(place) => place + 1,
            Err(place) => place,
        }
    }

    /// All of them in their order.
    pub(super) fn all(&self) -> Vec<&[u8]> {
        (0..self.ends.len()).map(|place| self.at(place)).collect()
    }

    fn at(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start as usize..self.ends[place] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short_and_part_children() {
        let check = |left: &str, right: &str, expect: &str| {
            let found = Separators::between(left.as_bytes(), right.as_bytes());
            assert_eq!(found, expect.as_bytes(), "{left} {right}");
            let separators = Separators::of(&[found]);
            assert_eq!(separators.child(left.as_bytes()), 0);
            assert_eq!(separators.child(right.as_bytes()), 1);
        };
        check("a", "b", "b");
        check("a/name-1", "a/name-2", "a/name-2");
        check("a/name-1", "b/name-1", "b");
        check("a", "a/long", "a/");
    }

    #[test]
    fn children_are_found() {
        let separators = Separators::of(&[b"a/1", b"a/2", b"b"]);
        assert_eq!(separators.all(), [&b"a/1"[..], b"a/2", b"b"]);
        let check = |key: &str, expect: usize| {
            assert_eq!(separators.child(key.as_bytes()), expect, "{key}")
        };
        check("", 0);
        check("a/0", 0);
        check("a/1", 1);
        check("a/1/x", 1);
        check("a/2", 2);
        check("az", 2);
        check("b", 3);
        check("c", 3);
        assert_eq!(Separators::default().child(b"a"), 0);
    }
}
