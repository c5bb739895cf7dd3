//! The end of what a watch is about: the resource is no longer served, or its objects are in another
//! form from then on.
//!
//! Invariant: no change is told of a resource that has taken the place of the watched one; the
//! client begins anew and is told by that.

use std::sync::Arc;

use quorate_registry::Removal;
use quorate_store::Revision;

use crate::Api;

/// The end of a watch by its resource; built-in resources have none.
pub(super) struct ResourceEnd {
    api: Arc<Api>,
    removal: Option<Removal>,
}

impl ResourceEnd {
    pub(super) fn new(api: &Arc<Api>, removal: Option<Removal>) -> Self {
        Self { api: api.clone(), removal }
    }

    /// Returns once the resource has ended; safe to drop and to call again.
    pub(super) async fn reached(&self) {
        Removal::closed_if_any(self.removal.as_ref()).await;
    }

    /// Whether a state of this revision, which this node has applied, comes after the end.
    pub(super) async fn is_before(&self, revision: Revision) -> bool {
        let Some(removal) = &self.removal else { return false };
        if let Some(publisher) = &self.api.custom_resources {
            // A node that cannot catch up knows no end yet.
            let _ = publisher.catch_up().await;
        }
        removal.last().is_some_and(|last| last < revision)
    }
}
