//! The kinds of the API group `discovery`.
//!
//! EndpointSlices are written by controllers, not here.

mod endpoint_slice;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "EndpointSlice" => Some(Arc::new(endpoint_slice::EndpointSlice)),
        _ => None,
    }
}
