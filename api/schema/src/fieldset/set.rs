//! The field set: a tree of path elements, and its operations.

use super::Element;
use super::nodes::Nodes;

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(crate) nodes: Nodes,
}

/// The node of one element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// Whether the path up to here is a member.
    pub(crate) member: bool,
    /// Members below.
    pub(crate) below: FieldSet,
}

impl Node {
    /// A member without members below.
    pub(crate) fn member() -> Self {
        Self { member: true, below: FieldSet::new() }
    }

    /// Merges another node.
    pub(super) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        self.below.add(&other.below);
    }

    /// Whether there is no member here or below.
    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// A set without members.
    pub const fn new() -> Self {
        Self { nodes: Nodes::new() }
    }

    /// The set of these nodes. Nodes in order are appended without a search.
    pub(crate) fn of_nodes(nodes: impl IntoIterator<Item = (Element, Node)>) -> Self {
        let parts = nodes.into_iter().filter(|(_, node)| !node.is_empty()).collect();
        Self { nodes: Nodes::of_parts(parts, |node, later| node.add(&later)) }
    }

    /// The set of the given fields of messages, each a dotted path: `status`, `spec.finalizers`.
    pub fn of_fields(paths: &[&str]) -> Self {
        paths.iter().map(|path| path.split('.').map(Element::field).collect::<Vec<_>>()).collect()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|(_, node)| usize::from(node.member) + node.below.len()).sum()
    }

    /// Adds a path, in time that grows with the set; the empty path (the object itself) is never a
    /// member.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let node = self.nodes.get_or_default(first);
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// Removes fields of a message; what is below them stays.
    pub(crate) fn remove_fields(&mut self, names: &[&str]) {
        self.nodes.retain(|element, node| {
            node.member &= element.field_name().is_none_or(|name| !names.contains(&name));
            !node.is_empty()
        });
    }

    /// Changes the members below one field of a message.
    pub(crate) fn within(&mut self, name: &str, change: impl FnOnce(&mut Self)) {
        let element = Element::field(name);
        let Some(node) = self.nodes.get_mut(&element) else {
            return;
        };
        change(&mut node.below);
        if node.is_empty() {
            self.nodes.retain(|other, _| *other != element);
        }
    }

    /// Whether a path is a member.
    pub fn contains(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.nodes.get(first).is_some_and(|node| {
            if rest.is_empty() { node.member } else { node.below.contains(rest) }
        })
    }

    /// Members of either.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Removes the members of `other`.
    pub fn subtract(&mut self, other: &Self) {
        let mut some_gone = false;
        for (element, theirs) in other.nodes.iter() {
            let Some(node) = self.nodes.get_mut(element) else {
                continue;
            };
            node.member &= !theirs.member;
            node.below.subtract(&theirs.below);
            some_gone |= node.is_empty();
        }
        if some_gone {
            self.nodes.retain(|_, node| !node.is_empty());
        }
    }

    /// Removes the members of `other` and what is below them.
    pub(super) fn subtract_recursive(&mut self, other: &Self) {
        let mut some_gone = false;
        for (element, theirs) in other.nodes.iter() {
            let Some(node) = self.nodes.get_mut(element) else {
                continue;
            };
            if theirs.member {
                *node = Node::default();
            } else {
                node.below.subtract_recursive(&theirs.below);
            }
            some_gone |= node.is_empty();
        }
        if some_gone {
            self.nodes.retain(|_, node| !node.is_empty());
        }
    }

    /// Adds the members of `other`.
    pub fn add(&mut self, other: &Self) {
        self.nodes.add(&other.nodes);
    }

    /// Members that `other` does not have.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// Members that are neither in `other` nor below a member of it.
    #[must_use]
    pub fn difference_recursive(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract_recursive(other);
        rest
    }

    /// Members that both have.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (small, large) =
            if self.nodes.len() <= other.nodes.len() { (self, other) } else { (other, self) };
        Self::of_nodes(small.nodes.iter().filter_map(|(element, one)| {
            let other = large.nodes.get(element)?;
            let below = one.below.intersection(&other.below);
            Some((element.clone(), Node { member: one.member && other.member, below }))
        }))
    }

    /// The node of one element.
    pub(crate) fn node(&self, element: &Element) -> Option<&Node> {
        self.nodes.get(element)
    }
}

impl<P: AsRef<[Element]>> FromIterator<P> for FieldSet {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.as_ref());
        }
        set
    }
}
