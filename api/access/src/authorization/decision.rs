//! Decisions of authorizers: allow, deny or no opinion, with the reason.

use quorate_meta::Status;

use super::Action;
use super::refusal::refusal;
use crate::authentication::User;
use quorate_registry::error::Error;

/// Seconds after which a client may retry when nothing could be decided.
const RETRY_SECONDS: u32 = 1;

/// What an authorizer says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The user may.
    Allow,
    /// The user may not, and no further mode is asked.
    Deny,
    /// Nothing allows it.
    #[default]
    NoOpinion,
}

/// A verdict with its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// What the authorizer says.
    pub verdict: Verdict,
    /// The reason, for people; may be empty.
    pub reason: String,
    /// The error of a mode that could not decide; empty when all could. The verdict holds all the
    /// same.
    pub error: String,
    /// What is wrong with bindings of the user, which leaves nothing undecided. Only access reviews
    /// show it apart from the reason. Empty where a rule allows the action: the search ends with
    /// that rule.
    pub problems: Vec<String>,
}

impl Decision {
    /// Allowed, for this reason.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Allow, reason: reason.into(), ..Self::default() }
    }

    /// Whether the user may.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// Whether no mode could decide.
    fn is_undecided(&self) -> bool {
        self.verdict == Verdict::NoOpinion && !self.error.is_empty()
    }

    /// Whether the user may, if a mode could decide, and why.
    pub fn outcome(&self) -> (Option<bool>, &str) {
        if self.is_undecided() {
            (None, &self.error)
        } else {
            (Some(self.is_allowed()), &self.reason)
        }
    }

    /// Lets through what is allowed.
    ///
    /// # Errors
    /// 403 otherwise; but 503 when no mode could decide, for the user may well be allowed and the
    /// client should retry.
    pub fn enforce(self, user: &User, action: &Action<'_>) -> Result<(), Error> {
        if self.is_allowed() {
            return Ok(());
        }
        if self.is_undecided() {
            return Err(Status::service_unavailable(self.error)
                .with_retry_after(RETRY_SECONDS)
                .into());
        }
        Err(refusal(user, action, &self.reason))
    }
}
