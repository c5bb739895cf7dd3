//! The map of the state: a persistent B+tree that counts.
//!
//! Invariants: cloning is O(1) and shares every node; a clone stays as it is while others change,
//! which copy what they touch, or change it in place when no clone has it. How many keys a range
//! has is known in O(log n). Keys and values are elsewhere in memory and cheap to clone.

mod build;
mod diff;
mod heads;
mod node;
mod put;
mod range;
mod remove;
mod separators;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

use build::Builder;
pub(crate) use diff::Diff;
use node::{Inner, Item, Leaf, Node};
use put::Split;
pub(crate) use range::Range;
use separators::Separators;

/// An ordered map from byte strings to values.
#[derive(Debug, Clone)]
pub(crate) struct Tree<V> {
    root: Option<Arc<Node<V>>>,
    len: usize,
}

impl<V> Tree<V> {
    /// How many keys it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the key holds.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&V> {
        self.root.as_ref()?.get(key).map(|(_, value)| value)
    }

    /// How many keys are less than this one, or also this one when it is `included`.
    pub(crate) fn rank(&self, key: &[u8], included: bool) -> usize {
        let (mut rank, mut node) = (0, self.root.as_ref());
        while let Some(next) = node {
            match &**next {
                Node::Inner(inner) => {
                    let place = inner.separators.child(key);
                    rank += inner.children[..place].iter().map(|child| child.len).sum::<usize>();
                    node = Some(&inner.children[place].node);
                }
                Node::Leaf(leaf) => {
                    rank += match leaf.search(key) {
                        Ok(place) => place + usize::from(included),
                        Err(place) => place,
                    };
                    node = None;
                }
            }
        }
        rank
    }

    /// The keys of these ranks, ascending.
    pub(crate) fn range(&self, ranks: std::ops::Range<usize>) -> Range<'_, V> {
        match &self.root {
            Some(root) if !ranks.is_empty() => Range::from(root, ranks.start, ranks.len()),
            _ => Range::empty(),
        }
    }

    /// All keys, ascending.
    pub(crate) fn iter(&self) -> Range<'_, V> {
        self.range(0..self.len)
    }
}

impl<V: Clone> Tree<V> {
    /// Puts what `make` makes of what the key holds, and gives what it held. The key that `make`
    /// gives must be this one.
    pub(crate) fn put(
        &mut self,
        key: &[u8],
        make: impl FnOnce(Option<&V>) -> (Bytes, V),
    ) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::Leaf(Leaf::of(vec![make(None)]))));
            self.len = 1;
            return None;
        };
        let placed = put::put(root, key, make);
        if let Some(Split { separator, right }) = placed.split {
            let height = root.height() + 1;
            let children = [root.clone(), right].map(node::Child::of).into();
            let separators = Arc::new(Separators::of(&[&separator]));
            *root = Arc::new(Node::Inner(Inner { height, separators, children }));
        }
        self.len += usize::from(placed.previous.is_none());
        placed.previous.map(|(_, value)| value)
    }

    /// Puts a value under a key, and gives what the key held.
    pub(crate) fn insert(&mut self, key: Bytes, value: V) -> Option<V> {
        self.put(&key.clone(), |_| (key, value))
    }

    /// Takes a key out, and gives what it held.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<V> {
        let root = self.root.as_mut()?;
        // A key that is not there copies nothing.
        root.get(key)?;
        let removed: Option<Item<V>> = remove::remove(root, key);
        self.len -= 1;
        while let Node::Inner(Inner { children, .. }) = &**root
            && let [only] = &children[..]
        {
            *root = only.node.clone();
        }
        if self.len == 0 {
            self.root = None;
        }
        removed.map(|(_, value)| value)
    }
}

impl<V: PartialEq> Tree<V> {
    /// What differs from an older version, ascending.
    pub(crate) fn diff<'a>(&'a self, older: &'a Self) -> Diff<'a, V> {
        Diff::between(older.root.as_ref(), self.root.as_ref())
    }
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<V: PartialEq> PartialEq for Tree<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.diff(other).next().is_none()
    }
}

impl<V: Eq> Eq for Tree<V> {}

impl<V: Clone> FromIterator<(Bytes, V)> for Tree<V> {
    /// Fastest and densest when the keys ascend; of a key that comes twice the last one stays.
    fn from_iter<I: IntoIterator<Item = (Bytes, V)>>(items: I) -> Self {
        let (mut items, mut builder) = (items.into_iter(), Builder::new());
        let displaced = items.find_map(|item| builder.push(item).err());
        let root = builder.finish();
        let mut tree = Self { len: root.as_ref().map_or(0, |root| root.len()), root };
        for (key, value) in displaced.into_iter().chain(items) {
            tree.insert(key, value);
        }
        tree
    }
}
