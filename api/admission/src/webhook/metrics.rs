//! What is counted of the calls of webhooks, and the seam to what exports it.

use std::fmt::Debug;
use std::time::Duration;

use quorate_registry::AdmissionOperation;

/// Whether a webhook changes objects or decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookType {
    /// It changes them.
    Mutating,
    /// It decides.
    Validating,
}

impl WebhookType {
    /// The label `type` of its metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Mutating => "admit",
            Self::Validating => "validating",
        }
    }

    /// The word in names: `mutating` or `validating`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        }
    }
}

/// What has become of a call. A status is that of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The webhook allows the write.
    Allowed,
    /// It denies the write.
    Denied {
        /// The status of the refusal.
        status: u16,
    },
    /// It has given no verdict, and the write is refused.
    Failed {
        /// The status of the answer, 503 without one.
        status: u16,
    },
    /// It has given no verdict, and its failure policy lets the write through.
    FailedOpen {
        /// The status of the answer, 503 without one.
        status: u16,
    },
    /// It could not be called for this write, which is refused.
    NotCalled,
}

/// The result of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallResult<'c> {
    /// The webhook.
    pub webhook: &'c str,
    /// Its type.
    pub webhook_type: WebhookType,
    /// The operation of the write.
    pub operation: AdmissionOperation,
    /// What has become of it.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// What the match conditions of a webhook say of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionsOutcome {
    /// They hold.
    Hold,
    /// The webhook is not asked.
    Exclude,
    /// One cannot be evaluated.
    Fail,
}

/// The evaluation of a webhook's match conditions for one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionsResult<'c> {
    /// The webhook.
    pub webhook: &'c str,
    /// Its type.
    pub webhook_type: WebhookType,
    /// The operation of the write.
    pub operation: AdmissionOperation,
    /// What they say.
    pub outcome: ConditionsOutcome,
    /// How long it took.
    pub took: Duration,
}

/// Counts the calls of webhooks: `apiserver_admission_webhook_request_total`,
/// `…_admission_duration_seconds`, `…_rejection_count` and `…_fail_open_count` follow from what it
/// is told.
pub trait WebhookMetrics: Debug + Send + Sync {
    /// A call has ended.
    fn called(&self, call: &CallResult<'_>);
    /// Match conditions were evaluated.
    fn conditions_evaluated(&self, result: &ConditionsResult<'_>);
}

/// Counts nothing.
#[derive(Debug)]
pub struct NoMetrics;

impl WebhookMetrics for NoMetrics {
    fn called(&self, _: &CallResult<'_>) {}

    fn conditions_evaluated(&self, _: &ConditionsResult<'_>) {}
}
