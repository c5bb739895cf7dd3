//! Webhook authorization with its calls measured.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_access::authorization::{ModeOptions, ReviewError, Reviewer};
use quorate_metrics::{Counter, Histogram, Registry};
use tokio::time::Instant;

/// The name of the webhook: there is one.
const NAME: &str = "default";

/// The same modes, with the calls of webhooks measured.
pub(crate) fn measured_modes(modes: &[ModeOptions], registry: &Registry) -> Vec<ModeOptions> {
    let calls = registry.counter("apiserver_authorization_webhook_evaluations_total");
    let duration = registry.histogram("apiserver_authorization_webhook_duration_seconds");
    let measured = |mode: &ModeOptions| match mode {
        ModeOptions::Webhook(options) => {
            let mut options = options.clone();
            let (calls, duration) = (calls.clone(), duration.clone());
            let reviewer = options.reviewer;
            options.reviewer = Arc::new(MeasuredReviewer { reviewer, calls, duration });
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
    }
}

#[async_trait]
impl Reviewer for MeasuredReviewer {
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError> {
        let mut call = Call { reviewer: self, begin: Instant::now(), result: "timeout" };
        let answer = self.reviewer.review(review).await;
        call.result = if answer.is_ok() { "success" } else { "error" };
        answer
    }
}
