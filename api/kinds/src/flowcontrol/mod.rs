//! The kinds of the flowcontrol group (API Priority and Fairness), as objects.
//!
//! Queuing of requests is part of the server.

mod conditions;
mod flow_schema;
mod mandatory;
mod policy_rules;
mod priority_level_configuration;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "FlowSchema" => Arc::new(flow_schema::FlowSchema),
        "PriorityLevelConfiguration" => {
            Arc::new(priority_level_configuration::PriorityLevelConfiguration)
        }
        _ => return None,
    })
}
