//! The kinds of the autoscaling group. HorizontalPodAutoscalers have two versions and are stored as v2.

mod behavior;
mod behavior_conversion;
mod conversion;
mod horizontal_pod_autoscaler;
mod metric_conversion;
mod metrics;
mod v1;

use std::sync::Arc;

use quorate_meta::Names;

use quorate_registry::{Conversion, Strategy};

/// The strategy of a kind of this group that has one of its own.
pub(super) fn strategy(version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => Arc::new(v1::HorizontalPodAutoscaler),
        (_, "HorizontalPodAutoscaler") => Arc::new(horizontal_pod_autoscaler::HorizontalPodAutoscaler),
        _ => return None,
    })
}

/// Between a version of a kind of this group and the stored one.
pub(super) fn conversion(names: &'static Names, version: &str, kind: &str) -> Option<Arc<dyn Conversion>> {
    match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => Some(Arc::new(conversion::Convert::new(names))),
        _ => None,
    }
}
