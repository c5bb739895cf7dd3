//! The kinds of the API group `node`.
//!
//! The RuntimeClass admission plugin applies runtime classes to pods.

mod runtime_class;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "RuntimeClass" => Arc::new(runtime_class::RuntimeClass),
        _ => return None,
    })
}
