//! The kinds of the API group `scheduling`.
//!
//! The Priority admission plugin applies priority classes to pods.

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
