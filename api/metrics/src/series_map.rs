//! Series by their label values: a map that only grows, up to a limit, and is read without a lock.
//!
//! Invariants: what was inserted stays where it is, so a reader holds a plain reference to it; two
//! threads that insert the same labels at one time get the same series; no more than
//! `SERIES_LIMIT` series are in a map. A look-up allocates nothing. Labels are of the server's making
//! and their number is bounded, so the hash is a fast one.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxBuildHasher;

/// Series of one family at most. What comes after that is counted in one series more.
pub(crate) const SERIES_LIMIT: usize = 10_000;
/// Chains that a map has; each is read from its begin.
const CHAINS: usize = 256;

type Link<V> = OnceLock<Box<Node<V>>>;

/// A map from label values to a series.
pub struct SeriesMap<V> {
    chains: OnceLock<Box<[Link<V>]>>,
    len: AtomicUsize,
}

struct Node<V> {
    hash: u64,
    labels: Box<[Box<str>]>,
    value: V,
    next: Link<V>,
}

impl<V> SeriesMap<V> {
    /// The series of these labels, made when it is not there; `None` when the map is full.
    pub fn get_or_insert(&self, labels: &[&str], make: impl FnOnce() -> V) -> Option<&V> {
        let hash = FxBuildHasher.hash_one(labels);
        let chains = self.chains.get_or_init(|| (0..CHAINS).map(|_| OnceLock::new()).collect());
        let mut link = &chains[usize::try_from(hash).unwrap_or_default() % CHAINS];
        let mut make = Some(make);
        let mut made = None;
        loop {
            if let Some(node) = link.get() {
                if node.is_of(hash, labels) {
                    return Some(&node.value);
                }
                link = &node.next;
                continue;
            }
            if let Some(make) = make.take() {
                if self.len.load(Ordering::Relaxed) >= SERIES_LIMIT {
                    return None;
                }
                let labels = labels.iter().map(|&label| label.into()).collect();
                made = Some(Box::new(Node { hash, labels, value: make(), next: OnceLock::new() }));
            }
            // Another thread may be first: then its node is looked at next.
            let node = made.take()?;
            match set(link, node) {
                Ok(()) => _ = self.len.fetch_add(1, Ordering::Relaxed),
                Err(node) => made = Some(node),
            }
        }
    }

    /// Every series with its labels, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[Box<str>], &V)> {
        let chains = self.chains.get().into_iter().flatten();
        chains.flat_map(|chain| {
            let nodes = std::iter::successors(target(chain), |node| target(&node.next));
            nodes.map(|node| (&*node.labels, &node.value))
        })
    }

    /// How many series there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The node that a link leads to.
fn target<V>(link: &Link<V>) -> Option<&Node<V>> {
    link.get().map(Box::as_ref)
}

/// Puts a node where none is; gives it back where there is one.
fn set<V>(link: &Link<V>, node: Box<Node<V>>) -> Result<(), Box<Node<V>>> {
    link.set(node)
}

impl<V> Node<V> {
    fn is_of(&self, hash: u64, labels: &[&str]) -> bool {
        self.hash == hash
            && self.labels.len() == labels.len()
            && self.labels.iter().zip(labels).all(|(own, label)| **own == **label)
    }
}

impl<V> Default for SeriesMap<V> {
    fn default() -> Self {
        Self { chains: OnceLock::new(), len: AtomicUsize::new(0) }
    }
}

impl<V> fmt::Debug for SeriesMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesMap").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<V> Drop for SeriesMap<V> {
    /// One node after the other: a long chain must not end in a deep recursion.
    fn drop(&mut self) {
        for chain in self.chains.take().into_iter().flatten() {
            let mut next = chain.into_inner();
            while let Some(node) = next {
                next = node.next.into_inner();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_same_labels_are_the_same_series() {
        let map = SeriesMap::default();
        let mut made = 0;
        for labels in [["a", "b"], ["a", "c"], ["ab", ""], ["", "ab"], ["a", "b"]] {
            map.get_or_insert(&labels, || made += 1);
        }
        assert_eq!((made, map.len(), map.iter().count()), (4, 4, 4));
    }

    #[test]
    fn it_is_bounded() {
        let map = SeriesMap::default();
        let full = (0..SERIES_LIMIT + 10)
            .filter(|number| map.get_or_insert(&[&number.to_string()], || ()).is_none());
        assert_eq!(full.count(), 10);
        assert_eq!(map.iter().count(), SERIES_LIMIT);
        assert!(map.get_or_insert(&["5"], || ()).is_some(), "what is there stays");
    }

    #[test]
    fn threads_get_the_same_series() {
        let map = SeriesMap::<AtomicUsize>::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..2_000 {
                        let label = number.to_string();
                        let series = map.get_or_insert(&[&label], AtomicUsize::default).unwrap();
                        series.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(map.len(), 2_000);
        assert!(map.iter().all(|(_, series)| series.load(Ordering::Relaxed) == 4));
    }

    #[test]
    fn a_look_up_allocates_nothing() {
        let map = SeriesMap::<()>::default();
        map.get_or_insert(&["a", "b"], || ());
        let found = allocation_counter::measure(|| {
            map.get_or_insert(&["a", "b"], || ());
        });
        assert_eq!(found.count_total, 0);
    }
}
