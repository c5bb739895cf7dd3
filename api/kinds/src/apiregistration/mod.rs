//! The kinds of the API group `apiregistration`.
//!
//! Proxying requests to extension API servers is not part of this crate.

mod api_service;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "APIService" => Some(Arc::new(api_service::ApiService)),
        _ => None,
    }
}
