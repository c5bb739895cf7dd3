//! What is counted of admission's plugins and policies, and of conversions by webhooks.

use std::sync::Arc;
use std::time::Duration;

use quorate_admission::metrics::{
    AdmissionMetrics, PluginResult, PodSecurityResult, PodSecurityTarget, PolicyAction,
    PolicyResult, StepResult,
};
use quorate_extensions::crd::conversion::{ConversionMetrics, ConversionResult};
use quorate_metrics::{Counter, Histogram, HistogramSeries, Registry};

/// The metrics of plugins and policies.
#[derive(Debug)]
pub(crate) struct AdmissionCalls {
    steps: Histogram<3>,
    plugins: Histogram<4>,
    validating: Counter<4>,
    validating_duration: Histogram<4>,
    mutating: Counter<3>,
    mutating_duration: Histogram<3>,
    compilation: HistogramSeries,
    evaluation: HistogramSeries,
    pod_security: Counter<7>,
    pod_security_errors: Counter<4>,
}

impl AdmissionCalls {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        let policies = |what: &str| format!("apiserver_{what}_admission_policy_check_total");
        let durations =
            |what: &str| format!("apiserver_{what}_admission_policy_check_duration_seconds");
        let plugins = "apiserver_admission_controller_admission_duration_seconds";
        let cel = |what: &str| {
            registry.histogram(&format!("apiserver_cel_{what}_duration_seconds")).with([])
        };
        Arc::new(Self {
            steps: registry.histogram("apiserver_admission_step_admission_duration_seconds"),
            plugins: registry.histogram(plugins),
            validating: registry.counter(&policies("validating")),
            validating_duration: registry.histogram(&durations("validating")),
            mutating: registry.counter(&policies("mutating")),
            mutating_duration: registry.histogram(&durations("mutating")),
            compilation: cel("compilation"),
            evaluation: cel("evaluation"),
            pod_security: registry.counter("pod_security_evaluations_total"),
            pod_security_errors: registry.counter("pod_security_errors_total"),
        })
    }
}

impl AdmissionMetrics for AdmissionCalls {
    fn step_ended(&self, result: &StepResult) {
        let step = if result.mutates { "admit" } else { "validate" };
        let labels = [step, result.operation.name(), truth(result.refuses)];
        self.steps.observe_duration(labels, result.took);
    }

    fn plugin_asked(&self, result: &PluginResult<'_>) {
        let step = if result.mutates { "admit" } else { "validate" };
        let labels = [result.plugin, step, result.operation.name(), truth(result.refuses)];
        self.plugins.observe_duration(labels, result.took);
    }

    fn policy_evaluated(&self, result: &PolicyResult<'_>) {
        let PolicyResult { policy, binding, action, has_failed, took } = *result;
        let error = if has_failed { "invalid_error" } else { "no_error" };
        self.evaluation.observe_duration(took);
        if action == PolicyAction::Mutate {
            self.mutating.inc([policy, binding, error]);
            self.mutating_duration.observe_duration([policy, binding, error], took);
        } else {
            let labels = [policy, binding, error, action.label()];
            self.validating.inc(labels);
            self.validating_duration.observe_duration(labels, took);
        }
    }

    fn policy_compiled(&self, took: Duration) {
        self.compilation.observe_duration(took);
    }

    fn pod_security_evaluated(&self, result: &PodSecurityResult<'_>) {
        let PodSecurityResult { mode, level, version, allows, target } = *result;
        let decision = if allows { "allow" } else { "deny" };
        let PodSecurityTarget { operation, resource, subresource } = target;
        let labels = [decision, level, version, mode, operation, resource, subresource];
        self.pod_security.inc(labels);
    }

    fn pod_security_failed(&self, target: &PodSecurityTarget<'_>, is_refused: bool) {
        let PodSecurityTarget { operation, resource, subresource } = *target;
        self.pod_security_errors.inc([truth(is_refused), operation, resource, subresource]);
    }
}

/// The metrics of conversions.
#[derive(Debug)]
pub(crate) struct Conversions {
    calls: Counter<2>,
    duration: Histogram<2>,
    definitions: Histogram<4>,
}

impl Conversions {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        Arc::new(Self {
            calls: registry.counter("apiserver_conversion_webhook_request_total"),
            duration: registry.histogram("apiserver_conversion_webhook_duration_seconds"),
            definitions: registry.histogram("apiserver_crd_conversion_webhook_duration_seconds"),
        })
    }
}

impl ConversionMetrics for Conversions {
    fn converted(&self, result: &ConversionResult<'_>) {
        let failure = result.failure.map_or("", |failure| failure.label());
        let outcome = if result.failure.is_some() { "failure" } else { "success" };
        self.calls.inc([outcome, failure]);
        self.duration.observe_duration([outcome, failure], result.took);
        let version = |whole: &'_ str| whole.rsplit('/').next().unwrap_or_default().to_owned();
        let (from, to) = (version(result.from), version(result.to));
        let labels = [result.definition, &*from, &*to, truth(result.failure.is_none())];
        self.definitions.observe_duration(labels, result.took);
    }
}

fn truth(is_true: bool) -> &'static str {
    if is_true { "true" } else { "false" }
}
