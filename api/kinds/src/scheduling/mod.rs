//! The kinds of the scheduling group.

mod priority_class;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "PriorityClass" => Arc::new(priority_class::PriorityClass),
        _ => return None,
    })
}
