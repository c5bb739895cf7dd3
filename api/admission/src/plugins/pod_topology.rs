//! Topology labels of pods (KEP-4742): a pod on a node has the region and zone labels of that node.
//!
//! Invariants: a pod that is created on a node gets them at once; one that is bound later gets them
//! with its Binding.

use quorate_meta::Value;

use crate::plugin::Plugin;
use crate::snapshot_view::SnapshotView;
use quorate_registry::Attributes;
use quorate_registry::error::Error;

/// The plugin that labels pods and bindings.
pub(super) struct PodTopologyLabels;

impl Plugin for PodTopologyLabels {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let node = if attributes.is_main() {
            object.str_at(&["spec", "nodeName"])
        } else {
            bound_to(object)
        };
        match node.filter(|node| !node.is_empty()).map(str::to_owned) {
            Some(node) => view.place(&node, object),
            None => Ok(()),
        }
    }
}

/// The node of a Binding; none when the target is not a Node.
fn bound_to(binding: &Value) -> Option<&str> {
    let target = binding.get("target")?;
    target.str_at(&["name"]).filter(|_| target.str_at(&["kind"]) == Some("Node"))
}
