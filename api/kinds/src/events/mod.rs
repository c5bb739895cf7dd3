//! The kinds of the events group.
//!
//! An Event of events/v1 is stored as one of v1.

mod conversion;
mod event;

use std::sync::Arc;

use quorate_registry::{Conversion, Strategy};

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "Event" => Some(Arc::new(event::EventsV1Event)),
        _ => None,
    }
}

/// The conversion between a kind of this group and its stored form.
pub(super) fn conversion(kind: &str) -> Option<Arc<dyn Conversion>> {
    match kind {
        "Event" => Some(Arc::new(conversion::EventConversion)),
        _ => None,
    }
}
