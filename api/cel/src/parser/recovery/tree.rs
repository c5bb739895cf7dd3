//! The parse tree of an expression with syntax errors.
//!
//! Invariant: nodes are numbered; a node's parts stand in the order in which they were read. Not here: what a tree means
//! (`visit`).

use super::automaton::StateId;
use super::grammar::{Label, Rule};

/// Number of a node.
pub(super) type NodeId = usize;

/// A token of the tree: one of the source, or one that was put in for a missing one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaf {
    /// Index of the token.
    Read(usize),
    /// A token that is missing before the token of this index.
    Missing(usize),
}

/// A named part of a node.
#[derive(Debug, Clone, Copy)]
pub(super) enum NodePart {
    Leaf(Leaf),
    Node(NodeId),
}

/// A rule that was read.
#[derive(Debug)]
pub(super) struct TreeNode {
    pub(super) rule: Rule,
    /// Which alternative, from 1; 0 when none could be chosen.
    pub(super) alternative: u8,
    pub(super) parent: Option<NodeId>,
    /// The state from which it was called.
    pub(super) caller: Option<StateId>,
    /// Index of its first token.
    pub(super) start: usize,
    pub(super) parts: Vec<(Label, NodePart)>,
    pub(super) children: Vec<NodeId>,
}

impl TreeNode {
    /// Parts of a name.
    pub(super) fn all(&self, label: Label) -> impl Iterator<Item = NodePart> {
        self.parts.iter().filter(move |(named, _)| *named == label).map(|(_, part)| *part)
    }

    /// The token of a name.
    pub(super) fn leaf(&self, label: Label) -> Option<Leaf> {
        self.all(label).find_map(|part| match part {
            NodePart::Leaf(leaf) => Some(leaf),
            NodePart::Node(_) => None,
        })
    }

    /// The tokens of a name.
    pub(super) fn leaves(&self, label: Label) -> Vec<Leaf> {
        let leaf = |part| match part {
            NodePart::Leaf(leaf) => Some(leaf),
            NodePart::Node(_) => None,
        };
        self.all(label).filter_map(leaf).collect()
    }

    /// The rule of a name.
    pub(super) fn node(&self, label: Label) -> Option<NodeId> {
        self.nodes(label).first().copied()
    }

    /// The rules of a name.
    pub(super) fn nodes(&self, label: Label) -> Vec<NodeId> {
        let node = |part| match part {
            NodePart::Node(node) => Some(node),
            NodePart::Leaf(_) => None,
        };
        self.all(label).filter_map(node).collect()
    }
}
