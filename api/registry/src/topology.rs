//! Topology labels of nodes: the region and zone of a node, which the pods on it have too
//! (KEP-4742).
//!
//! Invariants: labels that an object has already are kept. A node that does not exist adds none.

use quorate_meta::{Names, Value};
use quorate_store::Snapshot;

use super::Catalogue;
use crate::error::Error;
use crate::stored_codec;

const PLACES: [&str; 2] = ["region", "zone"];

/// Sets the topology labels of this node in an object.
///
/// # Errors
/// 500 for a node that cannot be read.
pub fn label(
    names: &Names,
    catalogue: &Catalogue,
    snapshot: &Snapshot,
    node: &str,
    object: &mut Value,
) -> Result<(), Error> {
    let Some(nodes) = catalogue.find_builtin("", "v1", "nodes") else {
        return Ok(());
    };
    let Some(entry) = snapshot.get(&nodes.key(None, node)) else {
        return Ok(());
    };
    let known = PLACES.map(|place| format!("topology.{}", names.domain_key(place)));
    let labels = stored_codec::header(nodes, &entry.value)?.labels();
    for (key, value) in labels.filter(|(key, _)| known.iter().any(|known| known == key)) {
        let path = ["metadata", "labels", key];
        if object.at(&path).is_none() {
            object.set_at(&path, value);
        }
    }
    Ok(())
}
