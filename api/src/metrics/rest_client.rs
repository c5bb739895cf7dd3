//! What is counted of the calls that this server makes to webhooks, as dashboards of API clients
//! know them.
//!
//! A server is called by its host and port, which the configurations of webhooks name.

use std::sync::Arc;

use quorate_metrics::{Counter, Histogram, Registry};
use quorate_webhook::{CallEnd, CallMetrics};

/// Every call is one.
const METHOD: &str = "POST";
/// The code of a call without an answer.
const NO_ANSWER: &str = "<error>";

/// The metrics of calls.
#[derive(Debug)]
pub(crate) struct RestClientMetrics {
    calls: Counter<3>,
    duration: Histogram<2>,
    sent: Histogram<2>,
    received: Histogram<2>,
    retries: Counter<3>,
}

impl RestClientMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        Arc::new(Self {
            calls: registry.counter("rest_client_requests_total"),
            duration: registry.histogram("rest_client_request_duration_seconds"),
            sent: registry.histogram("rest_client_request_size_bytes"),
            received: registry.histogram("rest_client_response_size_bytes"),
            retries: registry.counter("rest_client_request_retries_total"),
        })
    }
}

impl CallMetrics for RestClientMetrics {
    #[expect(clippy::cast_precision_loss, reason = "histograms sum floating-point numbers")]
    fn ended(&self, call: &CallEnd<'_>) {
        let code = call.status.as_ref().map_or(NO_ANSWER, |status| status.as_str());
        self.calls.inc([code, METHOD, call.host]);
        let labels = [METHOD, call.host];
        self.duration.observe_duration(labels, call.took);
        self.sent.observe(labels, call.sent as f64);
        self.received.observe(labels, call.received as f64);
    }

    fn sent_again(&self, host: &str) {
        self.retries.inc([NO_ANSWER, METHOD, host]);
    }
}
