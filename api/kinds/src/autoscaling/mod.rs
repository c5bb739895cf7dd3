//! The kinds of the autoscaling group.
//!
//! HorizontalPodAutoscaler has the versions v1 and v2 and is stored as v2.

mod behavior;
mod behavior_conversion;
mod conversion;
mod horizontal_pod_autoscaler;
mod horizontal_pod_autoscaler_v1;
mod metric_conversion;
mod metrics;

use std::sync::Arc;

use quorate_meta::Names;

use quorate_registry::{Conversion, Strategy};

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => {
            Arc::new(horizontal_pod_autoscaler_v1::HorizontalPodAutoscalerV1)
        }
        (_, "HorizontalPodAutoscaler") => {
            Arc::new(horizontal_pod_autoscaler::HorizontalPodAutoscaler)
        }
        _ => return None,
    })
}

/// The conversion between a version of a kind of this group and the stored one.
pub(super) fn conversion(
    names: &'static Names,
    version: &str,
    kind: &str,
) -> Option<Arc<dyn Conversion>> {
    match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => {
            Some(Arc::new(conversion::HorizontalPodAutoscalerConversion::new(names)))
        }
        _ => None,
    }
}
