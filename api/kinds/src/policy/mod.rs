//! The kinds of the API group `policy`.
//!
//! Eviction is a subresource of pods and has no strategy.

mod pod_disruption_budget;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "PodDisruptionBudget" => Arc::new(pod_disruption_budget::PodDisruptionBudget),
        _ => return None,
    })
}
