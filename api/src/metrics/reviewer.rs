//! Webhook authorization with its calls measured.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_access::authorization::{ModeOptions, ReviewError, Reviewer, Verdict};
use quorate_metrics::{Counter, Histogram, Registry};
use tokio::time::Instant;

/// The name of the webhook: there is one.
const NAME: &str = "default";
/// The result of a call that was answered.
const SUCCESS: &str = "success";

/// The same modes, with the calls of webhooks measured.
pub(crate) fn measured_modes(modes: &[ModeOptions], registry: &Registry) -> Vec<ModeOptions> {
    let calls = registry.counter("apiserver_authorization_webhook_evaluations_total");
    let duration = registry.histogram("apiserver_authorization_webhook_duration_seconds");
    let failed_open =
        registry.counter("apiserver_authorization_webhook_evaluations_fail_open_total");
    let measured = |mode: &ModeOptions| match mode {
        ModeOptions::Webhook(options) => {
            let mut options = options.clone();
            let (calls, duration) = (calls.clone(), duration.clone());
            // A failure that does not deny leaves the decision to the next mode.
            let failed_open = (options.on_failure != Verdict::Deny).then(|| failed_open.clone());
            let reviewer = options.reviewer;
            options.reviewer =
                Arc::new(MeasuredReviewer { reviewer, calls, duration, failed_open });
            ModeOptions::Webhook(options)
        }
        other => other.clone(),
    };
    modes.iter().map(measured).collect()
}

#[derive(Debug)]
struct MeasuredReviewer {
    reviewer: Arc<dyn Reviewer>,
    calls: Counter<2>,
    duration: Histogram<2>,
    failed_open: Option<Counter<2>>,
}

/// A call that is under way. One that is dropped has taken too long.
struct Call<'c> {
    reviewer: &'c MeasuredReviewer,
    begin: Instant,
    result: &'static str,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let labels = [NAME, self.result];
        self.reviewer.calls.inc(labels);
        self.reviewer.duration.observe_duration(labels, self.begin.elapsed());
        if let Some(failed_open) =
            self.reviewer.failed_open.as_ref().filter(|_| self.result != SUCCESS)
        {
            failed_open.inc(labels);
        }
    }
}

#[async_trait]
impl Reviewer for MeasuredReviewer {
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError> {
        let mut call = Call { reviewer: self, begin: Instant::now(), result: "timeout" };
        let answer = self.reviewer.review(review).await;
        call.result = if answer.is_ok() { SUCCESS } else { "error" };
        answer
    }
}
