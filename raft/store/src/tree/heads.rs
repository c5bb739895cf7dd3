//! The first bytes in which the keys of a node differ, kept in the node.
//!
//! Invariants: one head for each key, in the order of the keys; all keys agree in their first
//! `common` bytes. Keys are elsewhere in memory, so a search reads the heads first and then only
//! those keys whose heads are alike.

use std::ops::Range;

/// The heads of ascending keys. Where a method takes `at`, it gives the key at a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads {
    common: usize,
    heads: Vec<u64>,
}

impl Heads {
    pub(super) fn of<'k>(keys: impl DoubleEndedIterator<Item = &'k [u8]> + Clone) -> Self {
        let ends = keys.clone().next().zip(keys.clone().next_back());
        let common = ends.map_or(0, |(first, last)| shared(first, last));
        Self { common, heads: keys.map(|key| head(key, common)).collect() }
    }

    /// A copy with room for one more.
    pub(super) fn with_room(&self) -> Self {
        let mut heads = Vec::with_capacity(self.heads.len() + 1);
        heads.extend_from_slice(&self.heads);
        Self { common: self.common, heads }
    }

    /// The place of a key, when it is among them.
    pub(super) fn find<'k>(&self, key: &[u8], at: impl Fn(usize) -> &'k [u8]) -> Option<usize> {
        // Whether the key begins like the others is seen when it is compared with one of them.
        search(self.alike(key), key, at).ok()
    }

    /// The place of a key, or the place where it would belong.
    pub(super) fn search<'k>(
        &self,
        key: &[u8],
        at: impl Fn(usize) -> &'k [u8],
    ) -> Result<usize, usize> {
        if self.heads.is_empty() {
            return Err(0);
        }
        match key[..key.len().min(self.common)].cmp(&at(0)[..self.common]) {
            std::cmp::Ordering::Less => Err(0),
            std::cmp::Ordering::Greater => Err(self.heads.len()),
            std::cmp::Ordering::Equal => search(self.alike(key), key, at),
        }
    }

    /// Takes in the key that stands at a place from now on.
    pub(super) fn insert<'k>(&mut self, place: usize, at: impl Fn(usize) -> &'k [u8]) {
        let (key, other) = (at(place), at(usize::from(place == 0 && !self.heads.is_empty())));
        self.heads.reserve_exact(1);
        if shared(key, other) >= self.common {
            self.heads.insert(place, head(key, self.common));
        } else {
            self.common = shared(key, other);
            let keys = self.heads.len() + 1;
            self.heads.clear();
            self.heads.extend((0..keys).map(|place| head(at(place), self.common)));
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.heads.remove(place);
    }

    /// The places of the keys with the head that this one has.
    fn alike(&self, key: &[u8]) -> Range<usize> {
        let own = head(key, self.common);
        let start = self.heads.partition_point(|head| *head < own);
        let alike = self.heads[start..].iter().take_while(|head| **head == own).count();
        start..start + alike
    }
}

/// How many bytes two keys have in common at their beginning.
pub(super) fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

fn search<'k>(
    places: Range<usize>,
    key: &[u8],
    at: impl Fn(usize) -> &'k [u8],
) -> Result<usize, usize> {
    let Range { mut start, mut end } = places;
    while start < end {
        let middle = usize::midpoint(start, end);
        match at(middle).cmp(key) {
            std::cmp::Ordering::Less => start = middle + 1,
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Greater => end = middle,
        }
    }
    Err(start)
}

/// The bytes of a key after those that all have in common, as a number that sorts like them.
fn head(key: &[u8], common: usize) -> u64 {
    let rest = key.get(common..).unwrap_or_default();
    if let Some(first) = rest.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; size_of::<u64>()];
    first[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 7] =
        ["o/a", "o/a\0", "o/a/123456789", "o/a/12345678a", "o/b", "o/b1", "o/c"];

    #[test]
    fn finds_keys_and_their_places() {
        let check = |key: &str, expect: Result<usize, usize>| {
            let heads = Heads::of(KEYS.iter().map(|key| key.as_bytes()));
            let at = |place: usize| KEYS[place].as_bytes();
            assert_eq!(heads.search(key.as_bytes(), at), expect, "{key:?}");
            assert_eq!(heads.find(key.as_bytes(), at), expect.ok(), "{key:?}");
        };
        KEYS.iter().enumerate().for_each(|(place, key)| check(key, Ok(place)));
        check("", Err(0));
        check("o", Err(0));
        check("n/z", Err(0));
        check("o/", Err(0));
        check("o/a\0\0", Err(2));
        check("o/a/12345678", Err(2));
        check("o/a/1234567890", Err(3));
        check("o/b0", Err(5));
        check("o/d", Err(7));
        check("p", Err(7));
    }

    #[test]
    fn keys_come_in_any_order() {
        let order = [3, 2, 4, 0, 6, 5, 1];
        let (mut heads, mut keys) = (Heads::default(), Vec::new());
        for next in order {
            let place = keys.partition_point(|key| *key < KEYS[next]);
            keys.insert(place, KEYS[next]);
            heads.insert(place, |place| keys[place].as_bytes());
            for (place, key) in keys.iter().enumerate() {
                let found = heads.search(key.as_bytes(), |place| keys[place].as_bytes());
                assert_eq!(found, Ok(place), "{keys:?}");
            }
        }
    }
}
