//! How a key goes: the way down is copied where versions share it, and what got small is merged
//! with its neighbour on the way up, so that memory comes back.

use std::sync::Arc;

use super::node::{Child, INNER_CHILDREN, Inner, Item, LEAF_ITEMS, Leaf, Node};
use super::separators::Separators;

/// Takes a key out that is there. The node may be empty afterwards.
pub(super) fn remove<V: Clone>(node: &mut Arc<Node<V>>, key: &[u8]) -> Option<Item<V>> {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => Some(leaf.remove(leaf.search(key).ok()?)),
        Node::Inner(inner) => {
            let place = inner.separators.child(key);
            let child = &mut inner.children[place];
            let removed = remove(&mut child.node, key)?;
            child.len -= 1;
            if child.len == 0 {
                inner.remove(place);
            } else if !merge(inner, place) && place > 0 {
                merge(inner, place - 1);
            }
            Some(removed)
        }
    }
}

/// Merges a child with the next one when both together are small; tells whether it did.
fn merge<V: Clone>(inner: &mut Inner<V>, place: usize) -> bool {
    let [left, right, ..] = &inner.children[place..] else { return false };
    let merged = match (&*left.node, &*right.node) {
        (Node::Leaf(left), Node::Leaf(right)) => {
            if left.items.len() + right.items.len() > LEAF_ITEMS * 2 / 3 {
                return false;
            }
            Node::Leaf(Leaf::of([&left.items[..], &right.items[..]].concat()))
        }
        (Node::Inner(left), Node::Inner(right)) => {
            if left.children.len() + right.children.len() > INNER_CHILDREN * 2 / 3 {
                return false;
            }
            let between = inner.separators.all()[place];
            Node::Inner(joined(left, between, right))
        }
        _ => unreachable!("children of a node are of the same height"),
    };
    inner.remove(place + 1);
    inner.children[place] = Child::of(Arc::new(merged));
    true
}

fn joined<V: Clone>(left: &Inner<V>, between: &[u8], right: &Inner<V>) -> Inner<V> {
    let separators = [&left.separators.all()[..], &[between], &right.separators.all()[..]].concat();
    Inner {
        height: left.height,
        separators: Arc::new(Separators::of(&separators)),
        children: [&left.children[..], &right.children[..]].concat(),
    }
}
