//! Answers: may they, and what may they.

use quorate_meta::{Status, Value};

use super::rbac::Rule;
use super::{Action, refusal};
use crate::authentication::User;
use quorate_registry::error::Error;

/// When somebody may come back about whom nothing could be decided.
const RETRY_SECONDS: u32 = 1;

/// What came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allow,
    /// They may not, and nobody else is asked.
    Deny,
    /// Nothing allows it.
    #[default]
    NoOpinion,
}

/// An answer with its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// What came out.
    pub verdict: Verdict,
    /// Why, for people; may be empty.
    pub reason: String,
    /// What went wrong on the way; empty when nothing did. The verdict holds all the same.
    pub error: String,
    /// What is wrong with the rules that were looked at, which leaves nothing undecided. Only reviews tell it apart from the
    /// reason. Where a rule allows it, nothing is told of others: the search has ended with it.
    pub problems: Vec<String>,
}

impl Decision {
    /// They may, for this reason.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Allow, reason: reason.into(), ..Self::default() }
    }

    /// Whether they may.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// Whether nobody could say whether they may.
    fn is_undecided(&self) -> bool {
        self.verdict == Verdict::NoOpinion && !self.error.is_empty()
    }

    /// Whether they may, if anybody could say, and why.
    pub fn outcome(&self) -> (Option<bool>, &str) {
        if self.is_undecided() { (None, &self.error) } else { (Some(self.is_allowed()), &self.reason) }
    }

    /// Lets through what is allowed. The 403 otherwise; but 503 when nobody could say whether they may, for the client may well
    /// be allowed and do better to come back than to give up. (Document 000 names no code for that.)
    pub fn enforce(self, user: &User, action: &Action<'_>) -> Result<(), Error> {
        if self.is_allowed() {
            return Ok(());
        }
        if self.is_undecided() {
            return Err(Status::service_unavailable(self.error).with_retry_after(RETRY_SECONDS).into());
        }
        Err(refusal(user, action, &self))
    }
}

/// What somebody may do, as far as it can be listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rights {
    /// Rules about resources, as reviews show them.
    pub resources: Vec<Value>,
    /// Rules about other paths.
    pub paths: Vec<Value>,
    /// Why there may be more; empty when there is not.
    pub incomplete: Vec<String>,
    /// What went wrong on the way.
    pub errors: Vec<String>,
}

impl Rights {
    pub(super) fn add<'r>(&mut self, rules: impl IntoIterator<Item = &'r Rule>) {
        for rule in rules {
            let list = if rule.is_about_resources() { &mut self.resources } else { &mut self.paths };
            list.extend(rule.to_promise());
        }
    }
}
