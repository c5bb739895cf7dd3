//! Webhook authorization: each question goes to another server as a SubjectAccessReview, whose
//! status is the decision.
//!
//! Invariants: a decision is cached for as long as the operator configures, in bounded space; a
//! question takes bounded time, with all its retries. Without an answer the configured failure
//! policy holds, which is never to allow. Not here: the connection to the webhook, which is the
//! [`Reviewer`]'s.

mod decision_cache;
mod review;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_env::Clock;
use quorate_meta::Names;
use tokio::time::{sleep, timeout};

use self::decision_cache::{DecisionCache, hash};
use super::{Action, Decision, Verdict};
use crate::authentication::User;

/// Requests for one question at most.
const MAX_TRIES: u32 = 5;
/// How long to wait before the second try; each further wait is half as long again.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Bytes of an action that its user chooses, beyond which the decision is not cached.
const MAX_CHOSEN: usize = 10_000;

/// The error when the webhook does not answer.
const LATE: &str = "no answer in time";

/// Sends reviews to the webhook.
#[async_trait]
pub trait Reviewer: Send + Sync + fmt::Debug {
    /// Sends a review, as JSON, and returns it as the webhook has answered it.
    ///
    /// # Errors
    /// Why there is no answer, and whether another try may help.
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError>;
}

/// Why a webhook has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewError {
    /// A retry may help.
    Transient(String),
    /// A retry would fail again.
    Permanent(String),
}

/// How a webhook is asked.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Sends the reviews.
    pub reviewer: Arc<dyn Reviewer>,
    /// Tells how old a cached decision is.
    pub clock: Arc<dyn Clock>,
    /// How long an allowed decision is cached; zero asks each time.
    pub authorized_ttl: Duration,
    /// How long any other decision is cached.
    pub unauthorized_ttl: Duration,
    /// How long a question may take with all its retries. One request gets half of it.
    pub timeout: Duration,
    /// The verdict without an answer; [`Verdict::Allow`] counts as no opinion.
    pub on_failure: Verdict,
}

/// Decides by asking a webhook.
#[derive(Debug)]
pub(super) struct Webhook {
    options: WebhookOptions,
    api_version: String,
    cache: DecisionCache,
}

impl Webhook {
    pub(super) fn new(names: &Names, options: WebhookOptions) -> Self {
        let api_version = format!("{}/v1", names.group("authorization"));
        Self { options, api_version, cache: DecisionCache::default() }
    }

    /// The decision of the webhook, cached or asked for now.
    pub(super) async fn decide(&self, user: &User, action: &Action<'_>) -> Decision {
        let review = review::encode(&self.api_version, user, action);
        let key = (review::chosen(action) <= MAX_CHOSEN).then(|| hash(&review));
        let now_ms = self.options.clock.now_ms();
        if let Some(cached) = key.and_then(|key| self.cache.get(&key, now_ms)) {
            return cached;
        }
        let mut last = None;
        let asked = timeout(self.options.timeout, self.ask(review, &mut last)).await;
        match asked.unwrap_or_else(|_| Err(last.unwrap_or_else(|| LATE.to_owned()))) {
            Ok(decision) => {
                let ttl = if decision.is_allowed() {
                    self.options.authorized_ttl
                } else {
                    self.options.unauthorized_ttl
                };
                if let Some(key) = key.filter(|_| !ttl.is_zero()) {
                    self.cache.insert(key, decision.clone(), now_ms, ttl);
                }
                decision
            }
            Err(why) => self.without_answer(&why),
        }
    }

    fn without_answer(&self, why: &str) -> Decision {
        tracing::warn!(why, "the authorization webhook does not answer");
        let error = format!("the authorization webhook does not answer: {why}");
        match self.options.on_failure {
            Verdict::Deny => Decision {
                verdict: Verdict::Deny,
                reason: error.clone(),
                error,
                ..Decision::default()
            },
            Verdict::NoOpinion | Verdict::Allow => Decision { error, ..Decision::default() },
        }
    }

    /// Asks until there is an answer; `last` becomes the error of the last request that has ended.
    async fn ask(&self, review: Bytes, last: &mut Option<String>) -> Result<Decision, String> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let answer =
                timeout(self.options.timeout / 2, self.options.reviewer.review(review.clone()))
                    .await;
            let why = match answer {
                Ok(Ok(answer)) => return review::decode(&answer),
                Ok(Err(ReviewError::Permanent(why))) => return Err(why),
                Ok(Err(ReviewError::Transient(why))) => why,
                Err(_) => LATE.to_owned(),
            };
            if tries == MAX_TRIES {
                return Err(why);
            }
            *last = Some(why);
            tries += 1;
            sleep(wait).await;
            wait = wait * 3 / 2;
        }
    }
}
