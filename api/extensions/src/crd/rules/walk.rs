//! The places of a schema that a value can have: the whole, properties, entries of maps, elements of
//! lists. Branches of logic are places of their parents.

use quorate_meta::{Map, Value};
use quorate_schema::structural::{Additional, NodeId, SchemaNode, Structural};

/// By index of the node: whether a place, or one in it, has rules.
pub(super) fn reaches(schema: &Structural) -> Box<[bool]> {
    let mut reaches: Vec<bool> = Vec::new();
    for (_, node) in schema.nodes() {
        // What is in a node comes before it.
        let within = children(node).any(|(_, child)| reaches[child.index()]);
        reaches.push(within || !node.rules.is_empty());
    }
    reaches.into()
}

/// Calls `visit` with every place on the way to rules and its schema as it is written, parents first.
pub(super) fn each_place(
    schema: &Structural,
    source: &Value,
    reaches: &[bool],
    visit: &mut impl FnMut(NodeId, &Map),
) {
    descend(schema, schema.root(), source, reaches, visit);
}

fn descend(
    schema: &Structural,
    place: NodeId,
    source: &Value,
    reaches: &[bool],
    visit: &mut impl FnMut(NodeId, &Map),
) {
    let Some(map) = source.as_map().filter(|_| reaches[place.index()]) else {
        return;
    };
    visit(place, map);
    for (step, child) in children(schema.node(place)) {
        let source = match step {
            SchemaStep::Property(name) => source.at(&["properties", name]),
            SchemaStep::Entries => map.get("additionalProperties"),
            SchemaStep::Items => map.get("items"),
        };
        if let Some(source) = source {
            descend(schema, child, source, reaches, visit);
        }
    }
}

/// A step from a place to one in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum SchemaStep<'s> {
    Property(&'s str),
    Entries,
    Items,
}

/// The places in a place.
pub(super) fn children(node: &SchemaNode) -> impl Iterator<Item = (SchemaStep<'_>, NodeId)> {
    let entries = match node.additional {
        Additional::Schema(id) => Some((SchemaStep::Entries, id)),
        _ => None,
    };
    let items = node.items.map(|id| (SchemaStep::Items, id));
    let properties = node.properties.iter().map(|(name, id)| (SchemaStep::Property(name), *id));
    properties.chain(entries).chain(items)
}
