//! The kinds of the events group: events in their newer form, stored in the older one.

mod conversion;
mod event;

use std::sync::Arc;

use quorate_registry::{Conversion, Strategy};

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "Event" => Some(Arc::new(event::Event)),
        _ => None,
    }
}

/// Between a kind of this group and its stored form.
pub(super) fn conversion(kind: &str) -> Option<Arc<dyn Conversion>> {
    match kind {
        "Event" => Some(Arc::new(conversion::Convert)),
        _ => None,
    }
}
