//! How a key gets another value: the way down is copied where versions share it, and full nodes
//! split on the way up.

use std::sync::Arc;

use super::node::{INNER_CHILDREN, Inner, Item, LEAF_ITEMS, Leaf, Node};
use super::separators::Separators;

/// What putting did.
pub(super) struct Placed<V> {
    /// What stood under the key before.
    pub(super) previous: Option<Item<V>>,
    /// What the node has no room for.
    pub(super) split: Option<Split<V>>,
}

/// The part of a node that became one of its own, to the right of it.
pub(super) struct Split<V> {
    pub(super) separator: Box<[u8]>,
    pub(super) right: Arc<Node<V>>,
}

/// Puts what `make` makes of what stands under the key.
pub(super) fn put<V: Clone>(
    node: &mut Arc<Node<V>>,
    key: &[u8],
    make: impl FnOnce(Option<&V>) -> Item<V>,
) -> Placed<V> {
    // A shared leaf is copied with its new item, and not copied and then grown.
    if Arc::get_mut(node).is_none()
        && let Node::Leaf(leaf) = &**node
        && let Err(place) = leaf.search(key)
    {
        let mut leaf = leaf.with(place, make(None));
        let split = split_leaf(&mut leaf, place);
        *node = Arc::new(Node::Leaf(leaf));
        return Placed { previous: None, split };
    }
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => put_into_leaf(leaf, key, make),
        Node::Inner(inner) => {
            let place = inner.separators.child(key);
            let child = &mut inner.children[place];
            let Placed { previous, split } = put(&mut child.node, key, make);
            child.len += usize::from(previous.is_none());
            let Some(split) = split else { return Placed { previous, split: None } };
            child.len = child.node.len();
            inner.insert(place + 1, &split.separator, split.right);
            Placed { previous, split: split_inner(inner, place + 1) }
        }
    }
}

fn put_into_leaf<V>(
    leaf: &mut Leaf<V>,
    key: &[u8],
    make: impl FnOnce(Option<&V>) -> Item<V>,
) -> Placed<V> {
    let place = match leaf.search(key) {
        Ok(place) => {
            let held = &mut leaf.items[place];
            let item = make(Some(&held.1));
            return Placed { previous: Some(std::mem::replace(held, item)), split: None };
        }
        Err(place) => place,
    };
    leaf.insert(place, make(None));
    Placed { previous: None, split: split_leaf(leaf, place) }
}

fn split_leaf<V>(leaf: &mut Leaf<V>, place: usize) -> Option<Split<V>> {
    (leaf.items.len() > LEAF_ITEMS).then(|| {
        let right = leaf.split_off(split_place(leaf.items.len(), place));
        let separator = Separators::between(leaf.key(leaf.items.len() - 1), right.key(0)).into();
        Split { separator, right: Arc::new(Node::Leaf(right)) }
    })
}

fn split_inner<V>(inner: &mut Inner<V>, place: usize) -> Option<Split<V>> {
    let children = inner.children.len();
    (children > INNER_CHILDREN).then(|| {
        let (separator, right) = inner.split_off(split_place(children, place));
        Split { separator, right: Arc::new(Node::Inner(right)) }
    })
}

/// Where to split what has become one too long by what is now at `place`. Keys often come in
/// ascending order, which leaves full nodes behind when only the newest moves on.
fn split_place(len: usize, place: usize) -> usize {
    if place == len - 1 { len - 1 } else { len / 2 }
}
