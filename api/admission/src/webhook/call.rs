//! One call of a webhook: the review, the answer in time, and what that says.
//!
//! Invariants: a call ends within the webhook's timeout and the time of the request; no more than
//! [`MAX_ANSWER_BYTES`] of an answer are read; spans and log lines name the webhook and what
//! happened, and nothing of the objects.

use std::pin::pin;
use std::time::Duration;

use quorate_policy::FailurePolicy;
use quorate_registry::error::Error;
use quorate_registry::{AdmissionOperation, Attributes};
use quorate_trace::start;
use quorate_webhook::{Answer, Call, CallError, Failure};
use tokio::time::Instant;
use tracing::Instrument;

use super::breaker::{CallPermit, Change};
use super::index::StoredWebhook;
use super::metrics::{CallResult, Outcome, WebhookType};
use super::response::{self, Expected, Response, Unusable};
use super::review::Reviews;
use super::{WebhookIndex, refusal};

/// Bytes of an answer, at most: a patch of the largest object, in base64.
const MAX_ANSWER_BYTES: usize = 8 << 20;
/// A call that takes longer has a line in the log.
const SLOW: Duration = Duration::from_secs(1);
/// The status of a server that cannot serve at present; counted also where there is no answer.
const UNAVAILABLE: u16 = 503;

/// A line in the log about a webhook without a verdict.
pub(super) fn log_failure(webhook: &StoredWebhook, what: &str) {
    let StoredWebhook { name, configuration, failure_policy, .. } = webhook;
    tracing::warn!(
        webhook = name,
        configuration,
        ?failure_policy,
        "an admission webhook has failed: {what}"
    );
}

/// Why a call has no verdict.
#[derive(Debug)]
pub(super) enum Failed {
    /// The webhook's failure policy decides. The status is what metrics count; `why` may quote the
    /// answer, and `what`, for the log, quotes nothing: `None` while the breaker is open.
    Call { why: String, status: u16, what: Option<&'static str> },
    /// The write is refused whatever that policy is.
    Refused(Error),
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) result: Result<Response, Failed>,
    pub(super) took: Duration,
}

/// Calls a webhook for a write of which these are the reviews.
pub(super) async fn call(
    index: &WebhookIndex,
    webhook_type: WebhookType,
    webhook: &StoredWebhook,
    reviews: &Reviews,
    attributes: &Attributes<'_>,
) -> Called {
    let began = Instant::now();
    let asking = ask(index, webhook_type, webhook, reviews, attributes);
    let span = tracing::info_span!(
        "admission_webhook",
        webhook = webhook.name,
        configuration = webhook.configuration,
        kind = webhook_type.name()
    );
    let traced = start("admission_webhook").map(|span| {
        let span = span.with("quorate.admission.configuration", &*webhook.configuration);
        span.with("quorate.admission.webhook", &*webhook.name)
    });
    let mut asking = pin!(asking.instrument(span));
    let result = match &traced {
        None => asking.as_mut().await,
        Some(span) => span.run(asking.as_mut()).await,
    };
    drop(traced);
    let took = began.elapsed();
    let called = Called { result, took };
    if took >= SLOW {
        let (name, configuration) = (&webhook.name, &webhook.configuration);
        tracing::warn!(webhook = name, configuration, ?took, "a slow admission webhook");
    }
    if let Err(Failed::Call { what: Some(what), .. }) = &called.result {
        log_failure(webhook, what);
    }
    index.metrics.called(&called.counted(webhook_type, webhook, attributes.operation));
    called
}

impl Called {
    fn counted<'c>(
        &self,
        webhook_type: WebhookType,
        webhook: &'c StoredWebhook,
        operation: AdmissionOperation,
    ) -> CallResult<'c> {
        let fails_open = webhook.failure_policy == FailurePolicy::Ignore;
        let outcome = match &self.result {
            Ok(verdict) if verdict.allowed => Outcome::Allowed,
            Ok(verdict) => {
                Outcome::Denied { status: refusal::denied("", verdict.status.as_ref()).code }
            }
            Err(Failed::Call { status, .. }) if fails_open => {
                Outcome::FailedOpen { status: *status }
            }
            Err(Failed::Call { status, .. }) => Outcome::Failed { status: *status },
            Err(Failed::Refused(_)) => Outcome::NotCalled,
        };
        CallResult { webhook: &webhook.name, webhook_type, operation, outcome, took: self.took }
    }
}

async fn ask(
    index: &WebhookIndex,
    webhook_type: WebhookType,
    webhook: &StoredWebhook,
    reviews: &Reviews,
    attributes: &Attributes<'_>,
) -> Result<Response, Failed> {
    if attributes.dry_run && webhook.has_side_effects {
        return Err(Failed::Refused(refusal::no_dry_run(&webhook.name)));
    }
    let version = webhook.version.ok_or_else(|| {
        let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        Failed::new(format!("could not create admission objects: {why}"), "no known version")
    })?;
    let uid = index.new_uid();
    let body = reviews.review(index.names, version, &uid);
    let answer = send(index, webhook, body, attributes).await?;
    let body = answer.success().map_err(|error| Failed::Call {
        why: format!("failed to call webhook: {error}"),
        status: answer.status.as_u16(),
        what: Some("the answer is no success"),
    })?;
    let may_patch = webhook_type == WebhookType::Mutating;
    let expected = Expected { names: index.names, version, uid: &uid, may_patch };
    response::read(expected, body).map_err(|why| {
        let (what, why) = match why {
            Unusable::Undecodable(why) => ("failed to call webhook", why),
            Unusable::Invalid(why) => ("received invalid webhook response", why),
        };
        Failed::new(format!("{what}: {why}"), "the answer cannot be used")
    })
}

/// Sends a review, unless the breaker is open.
async fn send(
    index: &WebhookIndex,
    webhook: &StoredWebhook,
    body: bytes::Bytes,
    attributes: &Attributes<'_>,
) -> Result<Answer, Failed> {
    let deadline = attributes.author.and_then(|author| author.deadline());
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return Err(Failed::Refused(refusal::out_of_time()));
    }
    let timeout = left.map_or(webhook.timeout, |left| left.min(webhook.timeout));
    let permit = webhook.breaker.ask(Instant::now());
    let permit = permit.map_err(|why| Failed::Call { why, status: UNAVAILABLE, what: None })?;
    let config = webhook.client.as_ref().map_err(Clone::clone);
    let client = config.and_then(|config| index.clients.client(config)).map_err(|error| {
        Failed::new(format!("could not get REST client: {error}"), "the configuration is unusable")
    })?;
    let query = format!("timeout={}s", timeout.as_millis().div_ceil(1000));
    let call = Call { body, query: Some(&query), timeout, max_answer: MAX_ANSWER_BYTES };
    let answer = client.post(call).await;
    judge(webhook, permit, &answer, timeout);
    answer.map_err(|error| {
        let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match webhook.failure_policy {
            FailurePolicy::Ignore if is_over => Failed::Refused(refusal::out_of_time()),
            _ => Failed::new(format!("failed to call webhook: {error}"), what(error.failure())),
        }
    })
}

/// Tells the breaker of a webhook what has become of a call. What a single write may have caused is
/// no failure of the webhook: neither is a timeout that the request has shortened.
fn judge(
    webhook: &StoredWebhook,
    permit: CallPermit<'_>,
    answer: &Result<Answer, CallError>,
    timeout: Duration,
) {
    let change = match answer {
        Ok(answer) if answer.status.as_u16() == UNAVAILABLE => {
            permit.failed("the server is currently unable to handle the request", Instant::now())
        }
        Ok(_) => permit.answered(),
        Err(error) => match error.failure() {
            Failure::Timeout if timeout < webhook.timeout => Change::None,
            Failure::Timeout | Failure::Unreachable | Failure::Untrusted | Failure::Broken => {
                permit.failed(&error.to_string(), Instant::now())
            }
            Failure::TooLarge | Failure::Refused | Failure::Config => Change::None,
        },
    };
    let (name, configuration) = (&webhook.name, &webhook.configuration);
    match change {
        Change::None => {}
        Change::Opened => {
            tracing::warn!(webhook = name, configuration, "the circuit breaker of a webhook opens");
        }
        Change::Closed => {
            tracing::info!(
                webhook = name,
                configuration,
                "the circuit breaker of a webhook closes"
            );
        }
    }
}

/// A failure in words that quote nothing.
fn what(failure: Failure) -> &'static str {
    match failure {
        Failure::Config => "the configuration is unusable",
        Failure::Untrusted => "the certificate is not trusted",
        Failure::Unreachable => "the server cannot be reached",
        Failure::Broken => "the connection has ended",
        Failure::Timeout => "the timeout has passed",
        Failure::TooLarge => "the answer is too large",
        Failure::Refused => "the answer is no success",
    }
}

impl Failed {
    fn new(why: String, what: &'static str) -> Self {
        Self::Call { why, status: UNAVAILABLE, what: Some(what) }
    }
}
