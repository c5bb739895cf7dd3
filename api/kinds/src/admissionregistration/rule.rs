//! What the strategies of all kinds of the group have in common: an object of each decides the
//! admission of others.
//!
//! Invariant: a rule is never written without the version that was read.

use std::fmt::Debug;

use quorate_meta::{Cause, Names, Value};
use quorate_registry::{Part, Strategy};

use crate::field::Field;

/// A kind of rules of admission.
pub(super) trait Rule: Debug + Send + Sync + 'static {
    /// Whether its objects have a status, which a controller writes.
    const HAS_STATUS: bool = false;

    /// What is wrong with an object, but for its expressions.
    fn check(&self, object: &Value) -> Vec<Cause>;

    /// What is wrong with the expressions of an object that replaces `old`.
    fn check_expressions(&self, _: &Names, _: Option<&Value>, _: &Value) -> Vec<Cause> {
        Vec::new()
    }

    /// Checks a status that is written.
    fn check_status(&self, _: &Field<'_>, _: &mut Vec<Cause>) {}

    /// Warnings for the client that writes an object.
    fn warnings(&self, _: &Names, _: Option<&Value>, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

/// The strategy of a kind of rules.
#[derive(Debug)]
pub(super) struct AdmissionRule<R>(pub(super) R);

impl<R: Rule> Strategy for AdmissionRule<R> {
    fn checks_structure(&self) -> bool {
        false
    }

    fn is_admission_rule(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        R::HAS_STATUS
    }

    fn status_keeps_metadata(&self) -> bool {
        R::HAS_STATUS
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        self.0.check(object)
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        self.0.check_expressions(names, None, object)
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = self.0.check_expressions(names, Some(old), new);
        if part == Part::Status {
            self.0.check_status(&Field::root(new).get("status"), &mut causes);
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        self.0.warnings(names, old, new)
    }
}
