//! The kinds of the flowcontrol group, as objects: what they do to requests is the business of the limits.

mod conditions;
mod flowrules;
mod flowschema;
mod mandatory;
mod prioritylevel;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "FlowSchema" => Arc::new(flowschema::FlowSchema),
        "PriorityLevelConfiguration" => Arc::new(prioritylevel::PriorityLevelConfiguration),
        _ => return None,
    })
}
