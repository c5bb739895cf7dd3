//! Another server decides: each question goes out as a SubjectAccessReview (document 000) and its status is the answer.
//!
//! Invariants: an answer is remembered for as long as the operator says and in bounded space; a question takes bounded time,
//! with all its tries; without an answer the operator's choice holds, which is never to allow. How a review travels is the
//! business of the [`Reviewer`].

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

/// How often a question is sent at most.
const MAX_TRIES: u32 = 5;
/// How long to wait before the second try; each further wait is half as long again.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Bytes of what a requester chooses beyond which an answer is not remembered.
const MAX_CHOSEN: usize = 10_000;

/// Why there is no answer when the server says nothing.
const LATE: &str = "no answer in time";

/// Carries reviews to the server that decides.
#[async_trait]
pub trait Reviewer: Send + Sync + fmt::Debug {
    /// Sends a review, as JSON, and gives it back as the server has answered it.
    ///
    /// # Errors
    /// Why there is no answer, and whether another try may help.
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewError {
    /// Another try may help.
    Transient(String),
    /// It would be the same again.
    Permanent(String),
}

/// How another server is asked.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Who carries the reviews.
    pub reviewer: Arc<dyn Reviewer>,
    /// What tells how old an answer is.
    pub clock: Arc<dyn Clock>,
    /// How long it is remembered that somebody may do something; zero asks each time.
    pub authorized_ttl: Duration,
    /// How long it is remembered that they may not.
    pub unauthorized_ttl: Duration,
    /// How long a question may take with all its tries. One try gets half of it.
    pub timeout: Duration,
    /// What holds without an answer; [`Verdict::Allow`] counts as no opinion.
    pub on_failure: Verdict,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Webhook {
    options: WebhookOptions,
    api_version: String,
    answers: DecisionCache,
}

impl Webhook {
    pub(super) fn new(names: &Names, options: WebhookOptions) -> Self {
        let api_version = format!("{}/v1", names.group("authorization"));
        Self { options, api_version, answers: DecisionCache::default() }
    }

    /// What the server says, now or a short while ago.
    pub(super) async fn decide(&self, user: &User, action: &Action<'_>) -> Decision {
        let review = review::encode(&self.api_version, user, action);
        let key = (review::chosen(action) <= MAX_CHOSEN).then(|| hash(&review));
        let now_ms = self.options.clock.now_ms();
        if let Some(remembered) = key.and_then(|key| self.answers.get(&key, now_ms)) {
            return remembered;
        }
        let mut last = None;
        let asked = timeout(self.options.timeout, self.ask(review, &mut last)).await;
        match asked.unwrap_or_else(|_| Err(last.unwrap_or_else(|| LATE.to_owned()))) {
            Ok(decision) => {
                let ttl =
                    if decision.is_allowed() { self.options.authorized_ttl } else { self.options.unauthorized_ttl };
                if let Some(key) = key.filter(|_| !ttl.is_zero()) {
                    self.answers.insert(key, decision.clone(), now_ms, ttl);
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
            Verdict::Deny => Decision { verdict: Verdict::Deny, reason: error.clone(), error, ..Decision::default() },
            Verdict::NoOpinion | Verdict::Allow => Decision { error, ..Decision::default() },
        }
    }

    /// Asks until there is an answer; `last` becomes why the last try that has ended had none.
    async fn ask(&self, review: Bytes, last: &mut Option<String>) -> Result<Decision, String> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let answer = timeout(self.options.timeout / 2, self.options.reviewer.review(review.clone())).await;
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
