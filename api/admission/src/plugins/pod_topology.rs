//! Topology of pods: a pod on a node has the labels of the node that say in which region and zone it is, so that it knows
//! without a look at nodes. One that is bound gets them with its binding.

use quorate_meta::{Names, Value};

use crate::plugin::Plugin;
use crate::snapshot_view::{World, is_of};
use quorate_registry::Change;
use quorate_registry::error::Error;

/// See the module.
pub(super) struct PodTopology;

impl Plugin for PodTopology {
    fn completes(&self, names: &Names, change: &Change<'_>) -> bool {
        is_of(change, names, "", "pods")
    }

    fn complete(&self, world: &World<'_>, _: &Change<'_>, object: &mut Value) -> Result<(), Error> {
        let node = object.str_at(&["spec", "nodeName"]).unwrap_or_default().to_owned();
        if node.is_empty() { Ok(()) } else { world.place(&node, object) }
    }
}
