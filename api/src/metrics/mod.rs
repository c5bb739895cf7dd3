//! What the API server counts of its requests and of itself, in the registry of metrics.
//!
//! `ServerMetrics` has a part for each subject, made once with the handles that it counts by; what
//! is known elsewhere is asked when metrics are read (`observers`). Invariants: a label's value is
//! of the server, never of a client's making: what is not served has no group, version and resource;
//! counting a request whose labels were seen before takes no lock and allocates nothing.
//!
//! Not here: the registry, and how it is read (`quorate-metrics`).

mod access;
mod allocations;
mod flow_control;
mod health;
mod in_flight;
mod labels;
mod object_counts;
mod observers;
mod phases;
mod plugins;
mod reads;
mod requests;
mod rest_client;
mod reviewer;
mod store;
#[cfg(test)]
mod tests;
mod watches;
mod webhooks;
mod workqueues;

use std::sync::Arc;

use quorate_access::flow_control::InFlightLimits;
use quorate_access::request::RequestInfo;
use quorate_meta::Names;
use quorate_metrics::CounterSeries;
pub use quorate_metrics::{AllowedLabels, MetricsOptions, OptionsError, Registry, TextFormat};

pub(crate) use access::AccessMetrics;
pub(crate) use allocations::AllocatorMetrics;
pub(crate) use flow_control::{FlowControlCounts, observe_levels};
pub(crate) use health::HealthMetrics;
pub(crate) use in_flight::{InFlightMetrics, Running};
pub(crate) use observers::{BuildFacts, Observed, observe};
pub(crate) use phases::PhaseMetrics;
pub(crate) use plugins::{AdmissionCalls, Conversions};
pub(crate) use reads::{ListMeter, ReadMetrics};
pub(crate) use requests::{RequestEnd, RequestMetrics, RequestUnderWay};
pub(crate) use rest_client::RestClientMetrics;
pub(crate) use reviewer::measured_modes;
pub(crate) use store::measured;
pub(crate) use watches::{WatchMeter, WatchMetrics};
pub(crate) use webhooks::{WebhookCalls, observe_breakers};
pub(crate) use workqueues::WorkqueueMetrics;

/// The metrics that only the page of service level indicators has.
const INDICATORS: [&str; 2] = ["kubernetes_healthcheck", "kubernetes_healthchecks_total"];
/// What that page has besides.
const START_TIME: &str = "process_start_time_seconds";

/// Everything that one server counts.
#[derive(Debug)]
pub(crate) struct ServerMetrics {
    pub(crate) registry: Arc<Registry>,
    pub(crate) requests: RequestMetrics,
    pub(crate) access: AccessMetrics,
    pub(crate) in_flight: Arc<InFlightMetrics>,
    pub(crate) watches: WatchMetrics,
    pub(crate) reads: ReadMetrics,
    pub(crate) allocations: Arc<AllocatorMetrics>,
    pub(crate) workqueues: Arc<WorkqueueMetrics>,
    pub(crate) health: HealthMetrics,
    pub(crate) phases: PhaseMetrics,
    pub(crate) tls_handshake_errors: CounterSeries,
}

/// A page of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsPage {
    /// All but the indicators.
    All,
    /// The service level indicators.
    Indicators,
}

impl ServerMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(
        registry: Arc<Registry>,
        names: &'static Names,
        limits: InFlightLimits,
    ) -> Self {
        Self {
            requests: RequestMetrics::new(&registry),
            access: AccessMetrics::new(&registry, names),
            in_flight: InFlightMetrics::new(&registry, limits),
            watches: WatchMetrics::new(&registry),
            reads: ReadMetrics::new(&registry),
            allocations: AllocatorMetrics::new(&registry),
            workqueues: WorkqueueMetrics::new(&registry),
            health: HealthMetrics::new(&registry),
            phases: PhaseMetrics::new(&registry),
            tls_handshake_errors: registry.counter("apiserver_tls_handshake_errors_total").with([]),
            registry,
        }
    }
}

impl MetricsPage {
    /// The page of a path.
    pub(crate) fn find(path: &str) -> Option<Self> {
        match path {
            "/metrics" => Some(Self::All),
            "/metrics/slis" => Some(Self::Indicators),
            _ => None,
        }
    }

    /// Whether a metric is on it.
    pub(crate) fn has(self, name: &str) -> bool {
        let is_indicator = INDICATORS.contains(&name);
        match self {
            Self::All => !is_indicator,
            Self::Indicators => is_indicator || name == START_TIME,
        }
    }
}

/// Whether a request goes on as long as its client likes.
pub(crate) fn is_long_running(info: &RequestInfo) -> bool {
    labels::is_long_running(info)
}
