//! Trees against a map of the standard library: random changes, versions that stay as they are,
//! ranks, ranges, differences, and the form of the tree itself.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::node::{INNER_CHILDREN, LEAF_ITEMS};
use super::*;

type Model = BTreeMap<Bytes, u64>;

/// One change: what is put under a key, or nothing when it is taken out.
type Change = (Bytes, Option<u64>);

/// Keys of which many are prefixes of others, or differ late.
fn key(number: u16) -> Bytes {
    match number % 4 {
        0 => Bytes::from(format!("o/{number}")),
        1 => Bytes::from(format!("o/apps/deployments/namespace-of-some-length/{number:05}")),
        2 => Bytes::from(number.to_be_bytes().to_vec()),
        _ => Bytes::from(vec![b'o'; usize::from(number % 512)]),
    }
}

fn change() -> impl Strategy<Value = Change> {
    (0..3000_u16, prop::option::weighted(0.6, any::<u64>()))
        .prop_map(|(number, value)| (key(number), value))
}

fn apply(tree: &mut Tree<u64>, model: &mut Model, (key, value): Change) {
    let (found, expect) = match value {
        Some(value) => (tree.insert(key.clone(), value), model.insert(key, value)),
        None => (tree.remove(&key), model.remove(&key)),
    };
    assert_eq!(found, expect);
}

fn check(tree: &Tree<u64>, model: &Model) {
    assert_eq!((tree.len(), tree.is_empty()), (model.len(), model.is_empty()));
    assert!(tree.iter().eq(model.iter()));
    for (rank, (key, value)) in model.iter().enumerate() {
        assert_eq!(tree.get(key), Some(value), "{key:?}");
        assert_eq!((tree.rank(key, false), tree.rank(key, true)), (rank, rank + 1), "{key:?}");
    }
    if let Some(root) = &tree.root {
        check_node(root);
    }
}

/// What every node promises.
fn check_node(node: &Node<u64>) {
    match node {
        Node::Leaf(leaf) => {
            assert!((1..=LEAF_ITEMS).contains(&leaf.items.len()));
            assert!(leaf.items.is_sorted_by(|(one, _), (other, _)| one < other));
        }
        Node::Inner(inner) => {
            assert!((1..=INNER_CHILDREN).contains(&inner.children.len()));
            let separators = inner.separators.all();
            assert_eq!(separators.len() + 1, inner.children.len());
            for (place, child) in inner.children.iter().enumerate() {
                assert_eq!((child.len, child.node.height() + 1), (child.node.len(), inner.height));
                assert!(place == 0 || separators[place - 1] <= child.node.first_key());
                assert!(separators.get(place).is_none_or(|next| child.node.last_key() < *next));
                check_node(&child.node);
            }
        }
    }
}

fn leaves(node: &Node<u64>) -> usize {
    match node {
        Node::Leaf(_) => 1,
        Node::Inner(inner) => inner.children.iter().map(|child| leaves(&child.node)).sum(),
    }
}

fn check_diff(new: (&Tree<u64>, &Model), old: (&Tree<u64>, &Model)) {
    let keys: std::collections::BTreeSet<_> = new.1.keys().chain(old.1.keys()).collect();
    let both = keys.into_iter().map(|key| (key, old.1.get(key), new.1.get(key)));
    let expect: Vec<_> = both.filter(|(_, old, new)| old != new).collect();
    assert_eq!(new.0.diff(old.0).collect::<Vec<_>>(), expect);
    assert_eq!(new.0 == old.0, expect.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_a_map(
        start in vec(change(), 0..3000),
        further in vec(vec(change(), 1..40), 1..12),
        between in (0..3000_u16, 0..3000_u16),
    ) {
        let (mut tree, mut model) = (Tree::default(), Model::new());
        start.into_iter().for_each(|change| apply(&mut tree, &mut model, change));
        check(&tree, &model);
        let mut versions = vec![(tree.clone(), model.clone())];
        for changes in further {
            changes.into_iter().for_each(|change| apply(&mut tree, &mut model, change));
            versions.push((tree.clone(), model.clone()));
        }
        let (from, to) = (key(between.0), key(between.1));
        for (tree, model) in &versions {
            check(tree, model);
            check_diff((tree, model), (&versions[0].0, &versions[0].1));
            check_diff((&versions[0].0, &versions[0].1), (tree, model));
            let range = tree.range(tree.rank(&from, false)..tree.rank(&to, true));
            let expect = model.iter().filter(|(key, _)| (&from..=&to).contains(key));
            prop_assert!(range.eq(expect));
            // A tree with another form that holds the same.
            let built: Tree<u64> = model.clone().into_iter().collect();
            check(&built, model);
            prop_assert_eq!(&built, tree);
        }
        let keys: Vec<_> = model.keys().cloned().collect();
        for key in keys.into_iter().enumerate().filter(|(place, _)| place % 3 != 0) {
            apply(&mut tree, &mut model, (key.1, None));
        }
        check(&tree, &model);
    }
}

#[test]
fn ascending_keys_fill_their_nodes() {
    let items = || (0..20_000_u64).map(|number| (Bytes::from(format!("{number:06}")), number));
    let mut put = Tree::default();
    for (key, number) in items() {
        put.insert(key, number);
    }
    for tree in [put, items().collect()] {
        check(&tree, &items().collect());
        assert_eq!(leaves(tree.root.as_ref().unwrap()), 20_000_usize.div_ceil(LEAF_ITEMS));
    }
}

#[test]
fn items_in_any_order_make_a_tree() {
    let items = [("b", 1), ("c", 2), ("a", 3), ("b", 4), ("d", 5), ("d", 6)];
    let items = items.map(|(key, value)| (Bytes::from(key), value));
    let tree: Tree<u64> = items.clone().into_iter().collect();
    check(&tree, &items.into_iter().collect());
}

#[test]
fn nodes_come_back_when_items_go() {
    let items = (0..50_000_u64).map(|number| (Bytes::from(format!("{number:06}")), number));
    let (mut tree, mut model): (Tree<u64>, Model) = (items.clone().collect(), items.collect());
    // In an order that leaves all nodes with a few until near the end.
    for step in 0..100 {
        for number in (step..50_000_u64).step_by(100) {
            apply(&mut tree, &mut model, (Bytes::from(format!("{number:06}")), None));
        }
        let Some(root) = &tree.root else { break };
        assert!(leaves(root) * 3 <= tree.len() + 30, "{} items after {step} steps", tree.len());
    }
    check(&tree, &model);
    assert!(tree.root.is_none());
}

#[test]
fn versions_share_what_did_not_change() {
    let items = (0..10_000_u64).map(|number| (Bytes::from(format!("{number:06}")), number));
    let older: Tree<u64> = items.collect();
    let mut newer = older.clone();
    newer.insert("005000".into(), 1);
    assert_eq!(older.get(b"005000"), Some(&5000));
    assert_eq!(distinct(&newer, &older), 3, "the root, an inner node and a leaf were copied");
    drop(older);
    let root = Arc::as_ptr(newer.root.as_ref().unwrap());
    newer.insert("005000".into(), 2);
    assert_eq!(Arc::as_ptr(newer.root.as_ref().unwrap()), root, "the only owner copies nothing");
}

/// Nodes of a tree that another one does not have at the same place.
fn distinct(one: &Tree<u64>, other: &Tree<u64>) -> usize {
    fn of(one: &Arc<Node<u64>>, other: &Arc<Node<u64>>) -> usize {
        match (&**one, &**other) {
            _ if Arc::ptr_eq(one, other) => 0,
            (Node::Inner(one), Node::Inner(other)) => {
                let pairs = one.children.iter().zip(&other.children);
                1 + pairs.map(|(one, other)| of(&one.node, &other.node)).sum::<usize>()
            }
            _ => 1,
        }
    }
    of(one.root.as_ref().unwrap(), other.root.as_ref().unwrap())
}
