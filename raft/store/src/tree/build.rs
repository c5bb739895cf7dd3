//! A tree made of items in ascending order: dense, and without a search.

use std::sync::Arc;

use super::node::{INNER_CHILDREN, Inner, Item, LEAF_ITEMS, Leaf, Node};

/// Takes ascending items.
pub(super) struct Builder<V> {
    leaves: Vec<Arc<Node<V>>>,
    items: Vec<Item<V>>,
}

impl<V> Builder<V> {
    pub(super) fn new() -> Self {
        Self { leaves: Vec::new(), items: Vec::with_capacity(LEAF_ITEMS) }
    }

    /// Takes the next item, or gives it back when it does not come after the last one.
    pub(super) fn push(&mut self, item: Item<V>) -> Result<(), Item<V>> {
        if self.items.last().is_some_and(|(last, _)| *last >= item.0) {
            return Err(item);
        }
        // The last item stays until the next one has been compared with it.
        if self.items.len() == LEAF_ITEMS {
            let items = std::mem::replace(&mut self.items, Vec::with_capacity(LEAF_ITEMS));
            self.leaves.push(Arc::new(Node::Leaf(Leaf::of(items))));
        }
        self.items.push(item);
        Ok(())
    }

    /// The root of the tree; `None` when nothing came.
    pub(super) fn finish(mut self) -> Option<Arc<Node<V>>> {
        if !self.items.is_empty() {
            self.items.shrink_to_fit();
            self.leaves.push(Arc::new(Node::Leaf(Leaf::of(self.items))));
        }
        let mut nodes = self.leaves;
        while nodes.len() > 1 {
            let (mut rest, mut above) = (nodes.into_iter(), Vec::new());
            loop {
                let children: Vec<_> = rest.by_ref().take(INNER_CHILDREN).collect();
                if children.is_empty() {
                    break;
                }
                above.push(Arc::new(Node::Inner(Inner::over(children))));
            }
            nodes = above;
        }
        nodes.pop()
    }
}
