//! A snapshot: an immutable state of the whole store at one revision.
//!
//! Invariants: cloning is O(1) and shares everything; a snapshot never changes and never blocks a
//! writer, whatever happens to the store meanwhile. It keeps alive what it shows, so long-lived
//! holders (there are few) are bounded by name.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::digest::Digest;
use crate::tree::Tree;
use crate::{Entry, Revision};

pub(crate) type Objects = Tree<Entry>;

/// The store at one revision.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    revision: Revision,
    size: u64,
    objects: Objects,
}

impl Snapshot {
    /// `size` is that of all keys and values.
    pub(crate) fn new(revision: Revision, size: u64, objects: Objects) -> Self {
        Self { revision, size, objects }
    }

    /// A state that no store was ever in, made of these entries: an answer in the form that lists
    /// and gets are read from.
    #[must_use]
    pub fn of(revision: Revision, entries: impl IntoIterator<Item = (Bytes, Entry)>) -> Self {
        let objects: Objects = entries.into_iter().collect();
        let size = objects.iter().map(|(key, entry)| (key.len() + entry.value.len()) as u64).sum();
        Self { revision, size, objects }
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The newest transaction that it shows.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Bytes of all keys and values.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many keys it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// What the key holds.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.objects.get(key)
    }

    /// Keys with this prefix and strictly after `after`, in ascending byte order. Lazy: a page
    /// costs what it takes.
    pub fn range<'a>(
        &'a self,
        prefix: &[u8],
        after: Option<&[u8]>,
    ) -> impl ExactSizeIterator<Item = (&'a Bytes, &'a Entry)> + use<'a> {
        self.objects.range(self.ranks(prefix, after))
    }

    /// How many keys [`Snapshot::range`] would give. Logarithmic in those that there are.
    #[must_use]
    pub fn count(&self, prefix: &[u8], after: Option<&[u8]>) -> usize {
        self.ranks(prefix, after).len()
    }

    /// The ranks of these keys among all.
    fn ranks(&self, prefix: &[u8], after: Option<&[u8]>) -> Range<usize> {
        let from = match after {
            Some(after) if after >= prefix => self.objects.rank(after, true),
            _ => self.objects.rank(prefix, false),
        };
        let end = successor(prefix);
        from..end.map_or(self.objects.len(), |end| self.objects.rank(&end, false))
    }

    /// What differs from another state, in ascending order of keys: what the key held there, and
    /// what it holds here. Parts that both share are passed over, so it costs about as much as has
    /// changed when one was made from the other.
    pub fn changes_from<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'a Bytes, Option<&'a Entry>, Option<&'a Entry>)> + use<'a> {
        self.objects.diff(&other.objects)
    }

    /// A hash of the revision and every key and entry: equal on every node, in every process and on
    /// every platform. Linear in the whole store; meant for snapshot transfer, tests and
    /// simulation. Not cryptographic.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.word(self.revision.get());
        for (key, entry) in self.objects.iter() {
            digest.entry(key, entry);
        }
        digest.finish()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The smallest key that is greater than every key with this prefix; none when there is no such
/// key.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_of_a_prefix() {
        let check =
            |prefix: &[u8], expect: Option<&[u8]>| assert_eq!(successor(prefix).as_deref(), expect);
        check(b"a", Some(b"b"));
        check(b"o/", Some(b"o0"));
        check(b"a\xff\xff", Some(b"b"));
        check(b"\xff", None);
        check(b"", None);
    }

    #[test]
    fn ranges_start_strictly_after_and_stay_inside_the_prefix() {
        let snapshot = snapshot_of(&["a", "b/", "b/1", "b/2", "b/3", "b0", "c"]);
        let check = |prefix: &str, after: Option<&str>, expect: &[&str]| {
            let after = after.map(str::as_bytes);
            let keys: Vec<_> =
                snapshot.range(prefix.as_bytes(), after).map(|(key, _)| key.clone()).collect();
            assert_eq!(keys, expect, "{prefix} after {after:?}");
            assert_eq!(snapshot.count(prefix.as_bytes(), after), expect.len());
        };
        check("b/", None, &["b/", "b/1", "b/2", "b/3"]);
        check("b/", Some("b/1"), &["b/2", "b/3"]);
        check("b/", Some("b/1x"), &["b/2", "b/3"]);
        check("b/", Some("b/"), &["b/1", "b/2", "b/3"]);
        check("b/", Some("a"), &["b/", "b/1", "b/2", "b/3"]);
        check("b/", Some("b/3"), &[]);
        check("b/", Some("b0"), &[]);
        check("b/", Some("z"), &[]);
        check("", None, &["a", "b/", "b/1", "b/2", "b/3", "b0", "c"]);
        check("", Some("b0"), &["c"]);
        check("x", None, &[]);
    }

    #[test]
    fn changes_are_what_was_added_changed_and_removed() {
        let check = |before: &[&str], after: &[&str], expect: &str| {
            let (before, after) = (snapshot_of(before), snapshot_of(after));
            let sign = |entry: Option<&Entry>| entry.map_or("-", |_| "+");
            let line = |(key, old, new): (&Bytes, _, _)| {
                format!("{}{}{} ", String::from_utf8_lossy(key), sign(old), sign(new))
            };
            assert_eq!(after.changes_from(&before).map(line).collect::<String>(), expect);
        };
        check(&["a", "b"], &["a", "b"], "");
        check(&[], &["a"], "a-+ ");
        check(&["a", "b", "d"], &["b", "c", "d"], "a+- c-+ ");
        let (mut changed, before) = (snapshot_of(&["a", "b"]), snapshot_of(&["a", "b"]));
        let again = Entry { modified: Revision::new(9), ..changed.get(b"a").unwrap().clone() };
        changed.objects.insert("a".into(), again);
        let found: Vec<_> = changed.changes_from(&before).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].1.unwrap().modified, found[0].2.unwrap().modified),
            (Revision::new(2), Revision::new(9))
        );
    }

    #[test]
    fn digest_is_fixed_for_all_time() {
        assert_eq!(snapshot_of(&["a", "b"]).digest(), snapshot_of(&["b", "a"]).digest());
        assert_ne!(snapshot_of(&["a", "b"]).digest(), snapshot_of(&["ab"]).digest());
        assert_eq!(snapshot_of(&["a", "b/1"]).digest(), 295_571_513_759_049_484);
    }

    fn snapshot_of(keys: &[&str]) -> Snapshot {
        let entry = |key: &str| Entry {
            value: Bytes::copy_from_slice(key.as_bytes()),
            created: Revision::new(1),
            modified: Revision::new(2),
        };
        let objects =
            keys.iter().map(|key| (Bytes::copy_from_slice(key.as_bytes()), entry(key))).collect();
        let size = keys.iter().map(|key| 2 * key.len() as u64).sum();
        Snapshot::new(Revision::new(2), size, objects)
    }
}
