//! What is counted of health checks.

use quorate_metrics::{Counter, Gauge, Registry};

/// The metrics of health checks.
#[derive(Debug)]
pub(crate) struct HealthMetrics {
    result: Gauge<2>,
    results: Counter<3>,
}

impl HealthMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            result: registry.gauge("kubernetes_healthcheck"),
            results: registry.counter("kubernetes_healthchecks_total"),
        }
    }

    /// A check has run for an endpoint.
    pub(crate) fn checked(&self, check: &str, endpoint: &str, passes: bool) {
        self.result.set([check, endpoint], if passes { 1.0 } else { 0.0 });
        self.results.inc([check, endpoint, if passes { "success" } else { "error" }]);
    }
}
