//! The kinds of the flowcontrol group, as objects: what they do to requests is the business of the limits.

mod flowrules;
mod flowschema;
mod prioritylevel;

use std::sync::Arc;

use crate::registry::Strategy;

/// Names of the objects that every cluster needs: everything else passes here.
const EXEMPT: &str = "exempt";

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "FlowSchema" => Arc::new(flowschema::FlowSchema),
        "PriorityLevelConfiguration" => Arc::new(prioritylevel::PriorityLevelConfiguration),
        _ => return None,
    })
}
