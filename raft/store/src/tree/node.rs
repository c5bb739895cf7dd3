//! The nodes of a tree: leaves with items, and inner nodes that count what is below them.
//!
//! Invariants: no node is empty; all leaves are at the same depth; a node that versions share is
//! copied before it changes. Vectors have the room that they need and no more, since there are many.

use std::sync::Arc;

use bytes::Bytes;

use super::heads::Heads;
use super::separators::Separators;

/// Items of a leaf, at most. More make the tree flatter and a write copy more.
pub(super) const LEAF_ITEMS: usize = 14;
/// Children of an inner node, at most.
pub(super) const INNER_CHILDREN: usize = 32;

/// A key and what it holds.
pub(super) type Item<V> = (Bytes, V);

#[derive(Debug, Clone)]
pub(super) enum Node<V> {
    Leaf(Leaf<V>),
    Inner(Inner<V>),
}

#[derive(Debug, Clone)]
pub(super) struct Leaf<V> {
    pub(super) heads: Heads,
    pub(super) items: Vec<Item<V>>,
}

#[derive(Debug, Clone)]
pub(super) struct Inner<V> {
    /// Inner nodes from here down to the leaves, this one included.
    pub(super) height: u32,
    /// One less than there are children.
    pub(super) separators: Arc<Separators>,
    pub(super) children: Vec<Child<V>>,
}

#[derive(Debug, Clone)]
pub(super) struct Child<V> {
    /// Items below it.
    pub(super) len: usize,
    pub(super) node: Arc<Node<V>>,
}

impl<V> Node<V> {
    /// Items in it and below it.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.items.len(),
            Self::Inner(inner) => inner.children.iter().map(|child| child.len).sum(),
        }
    }

    /// Zero for a leaf.
    pub(super) fn height(&self) -> u32 {
        match self {
            Self::Leaf(_) => 0,
            Self::Inner(inner) => inner.height,
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Item<V>> {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(leaf) => {
                    let place = leaf.heads.find(key, |place| leaf.key(place))?;
                    return Some(&leaf.items[place]);
                }
                Self::Inner(inner) => {
                    node = &inner.children[inner.separators.child(key)].node;
                }
            }
        }
    }

    pub(super) fn first_key(&self) -> &[u8] {
        match self {
            Self::Leaf(leaf) => leaf.key(0),
            Self::Inner(inner) => inner.children[0].node.first_key(),
        }
    }

    pub(super) fn last_key(&self) -> &[u8] {
        match self {
            Self::Leaf(leaf) => leaf.key(leaf.items.len() - 1),
            Self::Inner(inner) => inner.children[inner.children.len() - 1].node.last_key(),
        }
    }
}

impl<V> Leaf<V> {
    pub(super) fn of(items: Vec<Item<V>>) -> Self {
        Self { heads: Heads::of(items.iter().map(|(key, _)| key.as_ref())), items }
    }

    pub(super) fn key(&self, place: usize) -> &[u8] {
        &self.items[place].0
    }

    /// The place of a key, or where it would belong.
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.heads.search(key, |place| self.key(place))
    }

    /// A copy that has one more item, at this place.
    pub(super) fn with(&self, place: usize, item: Item<V>) -> Self
    where
        V: Clone,
    {
        let mut items = Vec::with_capacity(self.items.len() + 1);
        items.extend_from_slice(&self.items[..place]);
        items.push(item);
        items.extend_from_slice(&self.items[place..]);
        let mut heads = self.heads.with_room();
        heads.insert(place, |place| &items[place].0);
        Self { heads, items }
    }

    pub(super) fn insert(&mut self, place: usize, item: Item<V>) {
        self.items.reserve_exact(1);
        self.items.insert(place, item);
        self.heads.insert(place, |place| &self.items[place].0);
    }

    pub(super) fn remove(&mut self, place: usize) -> Item<V> {
        self.heads.remove(place);
        self.items.remove(place)
    }

    /// Keeps the items before a place and gives those from it on.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let right = Self::of(self.items.split_off(place));
        let mut left = std::mem::take(&mut self.items);
        left.shrink_to_fit();
        *self = Self::of(left);
        right
    }
}

impl<V> Inner<V> {
    /// A node over these, which ascend and are of the same height.
    pub(super) fn over(nodes: Vec<Arc<Node<V>>>) -> Self {
        let height = nodes[0].height() + 1;
        let separators: Vec<_> = nodes
            .windows(2)
            .map(|pair| Separators::between(pair[0].last_key(), pair[1].first_key()))
            .collect();
        let separators = Arc::new(Separators::of(&separators));
        Self { height, separators, children: nodes.into_iter().map(Child::of).collect() }
    }

    /// Keeps the children before a place and gives those from it on, with the separator between.
    pub(super) fn split_off(&mut self, place: usize) -> (Box<[u8]>, Self) {
        let children = self.children.split_off(place);
        self.children.shrink_to_fit();
        let separators = self.separators.all();
        let between = separators[place - 1].into();
        let right = Arc::new(Separators::of(&separators[place..]));
        let left = Arc::new(Separators::of(&separators[..place - 1]));
        self.separators = left;
        (between, Self { height: self.height, separators: right, children })
    }

    /// Puts a separator and the child behind it at a place that is not the first.
    pub(super) fn insert(&mut self, place: usize, separator: &[u8], node: Arc<Node<V>>) {
        let mut separators = self.separators.all();
        separators.insert(place - 1, separator);
        self.separators = Arc::new(Separators::of(&separators));
        self.children.reserve_exact(1);
        self.children.insert(place, Child::of(node));
    }

    /// Takes a child out, and the separator before it; the first child's is the one behind it.
    pub(super) fn remove(&mut self, place: usize) {
        self.children.remove(place);
        let mut separators = self.separators.all();
        if !separators.is_empty() {
            separators.remove(place.saturating_sub(1));
        }
        self.separators = Arc::new(Separators::of(&separators));
    }
}

impl<V> Child<V> {
    pub(super) fn of(node: Arc<Node<V>>) -> Self {
        Self { len: node.len(), node }
    }
}
