//! The kinds of the API group `coordination`.
//!
//! Expired leases are the concern of the clients that compete for them.

mod lease;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Lease" => Arc::new(lease::Lease),
        _ => return None,
    })
}
