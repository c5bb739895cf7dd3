//! What is counted of the calls of admission webhooks, and which of them are not called at present.

use std::sync::Arc;

use http::StatusCode;
use quorate_admission::webhook::{
    CallResult, ConditionsOutcome, ConditionsResult, Outcome, WebhookIndex, WebhookMetrics,
};
use quorate_metrics::{Counter, Histogram, Registry};

/// The highest status that is told: webhooks may answer any number.
const MAX_STATUS: u16 = 600;

/// The metrics of admission webhooks.
#[derive(Debug)]
pub(crate) struct WebhookCalls {
    duration: Histogram<4>,
    calls: Counter<5>,
    rejections: Counter<5>,
    failed_open: Counter<2>,
    conditions: Histogram<4>,
    excluded: Counter<4>,
    condition_errors: Counter<4>,
}

impl WebhookCalls {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        let condition = |what: &str| format!("apiserver_admission_match_condition_{what}");
        Arc::new(Self {
            duration: registry.histogram("apiserver_admission_webhook_admission_duration_seconds"),
            calls: registry.counter("apiserver_admission_webhook_request_total"),
            rejections: registry.counter("apiserver_admission_webhook_rejection_count"),
            failed_open: registry.counter("apiserver_admission_webhook_fail_open_count"),
            conditions: registry.histogram(&condition("evaluation_seconds")),
            excluded: registry.counter(&condition("exclusions_total")),
            condition_errors: registry.counter(&condition("evaluation_errors_total")),
        })
    }
}

impl WebhookMetrics for WebhookCalls {
    fn called(&self, call: &CallResult<'_>) {
        let (name, kind) = (call.webhook, call.webhook_type.label());
        let operation = call.operation.name();
        let rejected = |status: u16, error: &str| {
            self.rejections.inc([name, kind, operation, error, &code(status)]);
        };
        let (status, is_rejected) = match call.outcome {
            Outcome::Allowed => (StatusCode::OK.as_u16(), false),
            Outcome::Denied { status } => {
                rejected(status, "no_error");
                (status, true)
            }
            Outcome::Failed { status } => {
                rejected(status, "calling_webhook_error");
                (status, true)
            }
            Outcome::FailedOpen { status } => {
                self.failed_open.inc([name, kind]);
                (status, false)
            }
            Outcome::NotCalled => {
                let status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
                return rejected(status, "apiserver_internal_error");
            }
        };
        let is_rejected = if is_rejected { "true" } else { "false" };
        self.duration.observe_duration([name, kind, operation, is_rejected], call.took);
        self.calls.inc([name, kind, operation, &code(status), is_rejected]);
    }

    fn conditions_evaluated(&self, result: &ConditionsResult<'_>) {
        let kind = result.webhook_type.label();
        let labels = [result.webhook, "webhook", kind, result.operation.name()];
        self.conditions.observe_duration(labels, result.took);
        match result.outcome {
            ConditionsOutcome::Hold => {}
            ConditionsOutcome::Exclude => self.excluded.inc(labels),
            ConditionsOutcome::Fail => self.condition_errors.inc(labels),
        }
    }
}

/// Tells of the webhooks whose circuit breaker is open at this node.
pub(crate) fn observe_breakers(registry: &Registry, webhooks: Option<Arc<WebhookIndex>>) {
    registry.observe("quorate_admission_open_breakers", move |to| {
        for open in webhooks.iter().flat_map(|webhooks| webhooks.applied_open_breakers()) {
            to.add(&[&open.configuration, &open.webhook, open.webhook_type.name()], 1.0);
        }
    });
}

fn code(status: u16) -> String {
    status.min(MAX_STATUS).to_string()
}
