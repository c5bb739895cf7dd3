//! Topology of pods: a pod on a node has the labels of the node that say in which region and zone it is, so that it knows
//! without a look at nodes.
//!
//! Invariant: labels that are given stay. A node that is not there has nothing to say.

use quorate_meta::{Names, Value};
use quorate_store::Snapshot;

use super::Plugin;
use super::world::{World, is_of};
use crate::error::Error;
use crate::registry::{Change, Registry, form};

const PLACES: [&str; 2] = ["region", "zone"];

/// See the module.
pub(super) struct PodTopology;

impl Plugin for PodTopology {
    fn completes(&self, names: &Names, change: &Change<'_>) -> bool {
        is_of(change, names, "", "pods")
    }

    fn complete(&self, world: &World<'_>, _: &Change<'_>, object: &mut Value) -> Result<(), Error> {
        let node = object.str_at(&["spec", "nodeName"]).unwrap_or_default().to_owned();
        if node.is_empty() { Ok(()) } else { place(world, &node, object) }
    }
}

/// Gives a binding the labels that its pod is to have on this node.
///
/// # Errors
/// 500 for a node that cannot be read.
pub(crate) fn label_binding(
    names: &'static Names,
    registry: &Registry,
    snapshot: &Snapshot,
    node: &str,
    binding: &mut Value,
) -> Result<(), Error> {
    place(&World::new(names, registry, snapshot), node, binding)
}

fn place(world: &World<'_>, node: &str, object: &mut Value) -> Result<(), Error> {
    let Some(nodes) = world.resource("", "v1", "nodes") else { return Ok(()) };
    let Some(entry) = world.entry(nodes, None, node) else { return Ok(()) };
    let known = PLACES.map(|place| format!("topology.{}", world.names.domain_key(place)));
    let labels = form::header(nodes, &entry.value)?.labels();
    for (key, value) in labels.filter(|(key, _)| known.iter().any(|known| known == key)) {
        let path = ["metadata", "labels", key];
        if object.at(&path).is_none() {
            object.set_at(&path, value);
        }
    }
    Ok(())
}
