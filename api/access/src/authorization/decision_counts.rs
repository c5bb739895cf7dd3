//! How often each authorization mode has decided.
//!
//! A mode that has no opinion leaves the decision to the next one and is not counted.

use std::sync::atomic::{AtomicU64, Ordering};

use super::mode::Mode;
use super::{Decision, Verdict};

/// The decisions of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeDecisions {
    /// The mode, as options name it.
    pub mode: &'static str,
    /// The name of the authorizer: that of the mode where it needs none of its own.
    pub name: &'static str,
    /// How often it has allowed.
    pub allowed: u64,
    /// How often it has denied.
    pub denied: u64,
}

/// What counts the decisions of one mode.
#[derive(Debug, Default)]
pub(super) struct DecisionCounts {
    allowed: AtomicU64,
    denied: AtomicU64,
}

impl DecisionCounts {
    pub(super) fn count(&self, decision: &Decision) {
        match decision.verdict {
            Verdict::Allow => _ = self.allowed.fetch_add(1, Ordering::Relaxed),
            Verdict::Deny => _ = self.denied.fetch_add(1, Ordering::Relaxed),
            Verdict::NoOpinion => {}
        }
    }

    pub(super) fn of(&self, mode: &Mode) -> ModeDecisions {
        let (mode, name) = mode.names();
        let [allowed, denied] =
            [&self.allowed, &self.denied].map(|count| count.load(Ordering::Relaxed));
        ModeDecisions { mode, name, allowed, denied }
    }
}
