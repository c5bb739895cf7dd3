//! The kinds of the flowcontrol group, as objects: what they do to requests is the business of the limits.

mod conditions;
mod flow_schema;
mod mandatory;
mod policy_rules;
mod priority_level_configuration;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "FlowSchema" => Arc::new(flow_schema::FlowSchema),
        "PriorityLevelConfiguration" => Arc::new(priority_level_configuration::PriorityLevelConfiguration),
        _ => return None,
    })
}
