//! The items from a place on, in ascending order.
//!
//! Invariant: how many there are is known from the beginning, so that no key is read to find the
//! end.

use std::slice;

use super::node::{Child, Item, Node};

/// Items of a part of a tree.
#[derive(Debug)]
pub(crate) struct Range<'a, V> {
    /// What is still to come behind the leaf, the nearest last.
    behind: Vec<slice::Iter<'a, Child<V>>>,
    /// What is still to come of the leaf.
    items: slice::Iter<'a, Item<V>>,
    left: usize,
}

impl<'a, V> Range<'a, V> {
    pub(super) fn empty() -> Self {
        Self { behind: Vec::new(), items: slice::Iter::default(), left: 0 }
    }

    /// The item at a place and those behind it, `left` in all. So many there must be.
    pub(super) fn from(root: &'a Node<V>, mut place: usize, left: usize) -> Self {
        let mut behind = Vec::with_capacity(root.height() as usize);
        let mut node = root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let items = leaf.items.get(place..).unwrap_or_default().iter();
                    return Self { behind, items, left };
                }
                Node::Inner(inner) => {
                    let mut children = inner.children.iter();
                    let mut child = children.next();
                    while let Some(passed) = child.filter(|child| child.len <= place) {
                        place -= passed.len;
                        child = children.next();
                    }
                    let Some(child) = child else { return Self::empty() };
                    behind.push(children);
                    node = &child.node;
                }
            }
        }
    }

    /// Goes on with the next leaf.
    fn advance(&mut self) -> Option<()> {
        loop {
            match self.behind.last_mut()?.next().map(|child| &*child.node) {
                None => {
                    self.behind.pop();
                }
                Some(Node::Inner(inner)) => self.behind.push(inner.children.iter()),
                Some(Node::Leaf(leaf)) => {
                    self.items = leaf.items.iter();
                    return Some(());
                }
            }
        }
    }
}

impl<'a, V> Iterator for Range<'a, V> {
    type Item = (&'a bytes::Bytes, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        loop {
            if let Some((key, value)) = self.items.next() {
                return Some((key, value));
            }
            self.advance()?;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn count(self) -> usize {
        self.left
    }
}

impl<V> ExactSizeIterator for Range<'_, V> {}
