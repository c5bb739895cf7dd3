//! The kinds of the discovery group.

mod endpointslice;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "EndpointSlice" => Some(Arc::new(endpointslice::EndpointSlice)),
        _ => None,
    }
}
