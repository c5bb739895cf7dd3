//! Declarative validation of a write: the rules of the schema beside the checks of the kind, and
//! which of the two results counts.
//!
//! Invariants: with the gate off nothing is run; without takeover the answer is what the other
//! checks have found; a difference, and a panic, is logged and counted.
//!
//! Not here: the rules and how they are checked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_meta::{Cause, Value};
use quorate_schema::declarative::{self, RuleComparison};

use super::Writer;
use super::refusal::invalid;
use crate::Resource;
use crate::error::Error;
use crate::features::Feature;

/// What declarative validation has come to in one process.
#[derive(Debug, Default)]
pub struct DeclarativeCounts {
    mismatches: AtomicU64,
    panics: AtomicU64,
}

impl DeclarativeCounts {
    /// Failures that one of the two checks has found and the other has not.
    #[must_use]
    pub fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// Panics of the rules.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}

impl Writer {
    /// Refuses the body of a subresource of which `found` is wrong, or that breaks the rules of its
    /// schema.
    ///
    /// # Errors
    /// 422 with every cause.
    pub fn check_body(
        &self,
        form: &Resource,
        name: &str,
        old: Option<&Value>,
        body: &Value,
        found: Vec<Cause>,
    ) -> Result<(), Error> {
        let causes = self.judge_by_rules(form, old, body, found)?;
        if causes.is_empty() { Ok(()) } else { Err(invalid(form, name, causes)) }
    }

    /// What is wrong with an object, or with its change from `old`, of what the other checks have
    /// found and the rules of the schema find.
    pub(super) fn judge_by_rules(
        &self,
        resource: &Resource,
        old: Option<&Value>,
        object: &Value,
        found: Vec<Cause>,
    ) -> Result<Vec<Cause>, Error> {
        if !self.gates.has(Feature::DeclarativeValidation) {
            return Ok(found);
        }
        let takes_over = self.gates.has(Feature::DeclarativeValidationTakeover);
        let (graph, ty) = (resource.graph(), resource.ty());
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let rules = declarative::check(&graph, ty, old, object);
            let comparison = declarative::compare(&graph, ty, &rules, &found);
            (rules, comparison)
        }));
        let Ok((rules, comparison)) = checked else {
            self.declarative.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(kind = resource.kind, "panic during declarative validation");
            return match takes_over {
                true => Err(Error::internal("panic during declarative validation")),
                false => Ok(found),
            };
        };
        self.tell_mismatches(resource, takes_over, &comparison);
        Ok(match takes_over {
            true => comparison.uncovered.into_iter().chain(rules).collect(),
            false => found,
        })
    }

    fn tell_mismatches(&self, resource: &Resource, takes_over: bool, comparison: &RuleComparison) {
        let count = u64::try_from(comparison.mismatches()).unwrap_or(u64::MAX);
        self.declarative.mismatches.fetch_add(count, Ordering::Relaxed);
        let counts = if takes_over { "declarative" } else { "hand written" };
        for (what, causes) in [("unmatched", &comparison.unmatched), ("extra", &comparison.extra)] {
            if !causes.is_empty() {
                // The values in the texts are those of the object.
                let causes: Vec<_> =
                    causes.iter().map(|cause| (&cause.field, cause.reason.as_str())).collect();
                tracing::error!(
                    kind = resource.kind,
                    ?causes,
                    "Unexpected difference between hand written validation and declarative \
                     validation error results, {what} error(s) found. This indicates an issue with \
                     declarative validation. The {counts} result counts"
                );
            }
        }
    }
}
