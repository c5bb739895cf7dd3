//! The sorted vector of path elements with their nodes; most sets have few elements.
//!
//! Invariant: elements strictly ascend. Inserting one is O(n); [`Nodes::of_parts`] sorts many at
//! once, [`Nodes::add`] merges two vectors in one pass.

use super::Element;
use super::set::Node;

/// Path elements in order, each with its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes(Vec<(Element, Node)>);

impl Nodes {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sorts parts in any order; `bring` merges a later one of the same element into the earlier
    /// one.
    pub(super) fn of_parts(
        mut parts: Vec<(Element, Node)>,
        mut bring: impl FnMut(&mut Node, Node),
    ) -> Self {
        if !parts.is_sorted_by(|left, right| left.0 < right.0) {
            parts.sort_by(|left, right| left.0.cmp(&right.0));
            parts.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    bring(&mut kept.1, std::mem::take(&mut later.1));
                }
                same
            });
        }
        Self(parts)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The node of an element.
    pub(super) fn get(&self, element: &Element) -> Option<&Node> {
        self.find(element).ok().map(|at| &self.0[at].1)
    }

    /// The node of an element, mutable.
    pub(super) fn get_mut(&mut self, element: &Element) -> Option<&mut Node> {
        self.find(element).ok().map(|at| &mut self.0[at].1)
    }

    /// The node of an element, inserted when it is absent.
    pub(super) fn get_or_default(&mut self, element: &Element) -> &mut Node {
        let at = self.find(element).unwrap_or_else(|at| {
            self.0.insert(at, (element.clone(), Node::default()));
            at
        });
        &mut self.0[at].1
    }

    /// Merges the nodes of another vector.
    pub(super) fn add(&mut self, others: &Self) {
        if others.is_empty() {
            return;
        }
        let mut own = std::mem::take(&mut self.0).into_iter().peekable();
        let mut all = Vec::with_capacity(own.len() + others.len());
        for (element, theirs) in others.iter() {
            while let Some(before) = own.next_if(|(other, _)| other < element) {
                all.push(before);
            }
            match own.next_if(|(other, _)| other == element) {
                Some((element, mut node)) => {
                    node.add(theirs);
                    all.push((element, node));
                }
                None => all.push((element.clone(), theirs.clone())),
            }
        }
        all.extend(own);
        self.0 = all;
    }

    /// Keeps the elements for which `keep` holds.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Element, &mut Node) -> bool) {
        self.0.retain_mut(|(element, node)| keep(element, node));
    }

    /// The elements in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Element, &Node)> {
        self.0.iter().map(|(element, node)| (element, node))
    }

    /// The elements in order, with mutable nodes.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&Element, &mut Node)> {
        self.0.iter_mut().map(|(element, node)| (&*element, node))
    }

    fn find(&self, element: &Element) -> Result<usize, usize> {
        match self.0.last() {
            None => Err(0),
            Some((last, _)) if last < element => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.cmp(element)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Parts = Vec<(u8, bool)>;

    fn parts() -> impl Strategy<Value = Parts> {
        prop::collection::vec((0_u8..12, any::<bool>()), 0..24)
    }

    fn nodes(parts: &Parts) -> Nodes {
        let part = |(index, member): &(u8, bool)| (Element::index((*index).into()), node(*member));
        Nodes::of_parts(parts.iter().map(part).collect(), |node, later| *node = later)
    }

    fn node(member: bool) -> Node {
        Node { member, ..Node::default() }
    }

    /// Expects these elements in order.
    fn check(nodes: &Nodes, expect: &BTreeMap<Element, bool>) {
        assert!(
            nodes.iter().map(|(element, node)| (element, &node.member)).eq(expect),
            "{nodes:?} {expect:?}"
        );
        assert_eq!((nodes.len(), nodes.is_empty()), (expect.len(), expect.is_empty()));
        let all = (0..12).map(Element::index);
        all.for_each(|one| {
            assert_eq!(nodes.get(&one).map(|node| node.member), expect.get(&one).copied())
        });
    }

    fn model(parts: &Parts) -> BTreeMap<Element, bool> {
        parts.iter().map(|(index, member)| (Element::index((*index).into()), *member)).collect()
    }

    proptest! {
        #[test]
        fn a_sorted_vector_does_what_a_tree_does(one in parts(), other in parts()) {
            let (mut all, mut expect) = (nodes(&one), model(&one));
            check(&all, &expect);
            all.add(&nodes(&other));
            model(&other).into_iter().for_each(|(element, member)| *expect.entry(element).or_default() |= member);
            check(&all, &expect);
            for (index, member) in other {
                let element = Element::index(index.into());
                all.get_or_default(&element).member = member;
                expect.insert(element, member);
            }
            check(&all, &expect);
            all.retain(|_, node| node.member);
            expect.retain(|_, member| *member);
            check(&all, &expect);
        }
    }
}
