//! What is in a place of a schema, at any depth, so that walks over values pass by all places where they have nothing to do.
//!
//! Branches of logic are no places: nothing in them is embedded, has a default or tells elements apart.

use super::node::{Additional, NodeId, SchemaNode};
use crate::graph::ListKind;

/// For each node by its number: what it or a place in it has.
#[derive(Debug)]
pub(super) struct Below {
    embedded: Box<[bool]>,
    unique: Box<[bool]>,
}

impl Below {
    /// Of nodes of which children come before their parents.
    pub(super) fn of(nodes: &[SchemaNode]) -> Self {
        let is_unique =
            |node: &SchemaNode| matches!(node.list, Some(ListKind::Set | ListKind::Map(_)));
        Self { embedded: gather(nodes, |node| node.embedded), unique: gather(nodes, is_unique) }
    }

    /// Whether there are embedded objects.
    pub(super) fn has_embedded(&self, id: NodeId) -> bool {
        self.embedded[id.index()]
    }

    /// Whether there are lists without duplicates.
    pub(super) fn has_unique(&self, id: NodeId) -> bool {
        self.unique[id.index()]
    }
}

fn gather(nodes: &[SchemaNode], has: impl Fn(&SchemaNode) -> bool) -> Box<[bool]> {
    let mut found: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let entries = match node.additional {
            Additional::Schema(id) => Some(id),
            _ => None,
        };
        let properties = node.properties.iter().map(|(_, id)| *id);
        let within = properties.chain(entries).chain(node.items).any(|id| found[id.index()]);
        found.push(within || has(node));
    }
    found.into()
}
