//! What differs between two versions of a tree.
//!
//! Invariant: nodes that both versions share are passed over, so versions of which one was made
//! from the other cost about as much as was changed. Two trees of any origin compare as well.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::node::{Item, Node};

/// Differences in ascending order: the key, what it held, what it holds.
#[derive(Debug)]
pub(crate) struct Diff<'a, V> {
    old: Frontier<'a, V>,
    new: Frontier<'a, V>,
}

/// What is still to be compared of a version, the nearest last.
#[derive(Debug)]
struct Frontier<'a, V>(Vec<Part<'a, V>>);

#[derive(Debug)]
enum Part<'a, V> {
    Whole(&'a Arc<Node<V>>),
    /// Never empty.
    Items(&'a [Item<V>]),
}

impl<'a, V> Diff<'a, V> {
    pub(super) fn between(old: Option<&'a Arc<Node<V>>>, new: Option<&'a Arc<Node<V>>>) -> Self {
        Self { old: Frontier::of(old), new: Frontier::of(new) }
    }
}

impl<'a, V> Frontier<'a, V> {
    fn of(root: Option<&'a Arc<Node<V>>>) -> Self {
        Self(root.map(Part::Whole).into_iter().collect())
    }

    /// Replaces the nearest part, which is a node, by what is in it.
    fn open(&mut self) {
        let Some(Part::Whole(node)) = self.0.pop() else { return };
        match &**node {
            Node::Leaf(leaf) => self.0.push(Part::Items(&leaf.items)),
            Node::Inner(inner) => {
                self.0.extend(inner.children.iter().rev().map(|child| Part::Whole(&child.node)))
            }
        }
    }

    /// The nearest item, which the nearest part begins with.
    fn take(&mut self) -> Option<&'a Item<V>> {
        let Some(Part::Items(items)) = self.0.last_mut() else { return None };
        let (first, rest) = items.split_first()?;
        *items = rest;
        if rest.is_empty() {
            self.0.pop();
        }
        Some(first)
    }
}

impl<'a, V: PartialEq> Iterator for Diff<'a, V> {
    type Item = (&'a Bytes, Option<&'a V>, Option<&'a V>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match (self.old.0.last(), self.new.0.last()) {
                (Some(Part::Whole(old)), Some(Part::Whole(new))) => {
                    if Arc::ptr_eq(old, new) {
                        self.old.0.pop();
                        self.new.0.pop();
                        continue;
                    }
                    let order = old.height().cmp(&new.height());
                    if order.is_ge() {
                        self.old.open();
                    }
                    if order.is_le() {
                        self.new.open();
                    }
                }
                (Some(Part::Whole(_)), _) => self.old.open(),
                (_, Some(Part::Whole(_))) => self.new.open(),
                (Some(Part::Items(old)), Some(Part::Items(new))) => {
                    match order(&old[0].0, &new[0].0) {
                        Ordering::Less => return self.old.take().map(removed),
                        Ordering::Greater => return self.new.take().map(added),
                        Ordering::Equal => {
                            let ((key, old), (_, new)) = (self.old.take()?, self.new.take()?);
                            if old != new {
                                return Some((key, Some(old), Some(new)));
                            }
                        }
                    }
                }
                (Some(Part::Items(_)), None) => return self.old.take().map(removed),
                (None, Some(Part::Items(_))) => return self.new.take().map(added),
                (None, None) => return None,
            }
        }
    }
}

/// The order of two keys. Versions share most of them, so that few are read.
fn order(one: &Bytes, other: &Bytes) -> Ordering {
    if one.as_ptr() == other.as_ptr() && one.len() == other.len() {
        return Ordering::Equal;
    }
    one.cmp(other)
}

fn removed<V>((key, value): &Item<V>) -> (&Bytes, Option<&V>, Option<&V>) {
    (key, Some(value), None)
}

fn added<V>((key, value): &Item<V>) -> (&Bytes, Option<&V>, Option<&V>) {
    (key, None, Some(value))
}
