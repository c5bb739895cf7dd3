//! Admission policies as values: their expressions compiled, and what they say of one request.
//!
//! [`Environments`] know what expressions may use; [`Policy::compile`] reads the `spec` of a
//! ValidatingAdmissionPolicy and tells what is wrong with its expressions; [`Policy::evaluate`]
//! gives what it finds in one request with one parameter object. [`mutation::MutatingPolicy`] is the same
//! of a MutatingAdmissionPolicy, and its finding a change of the object. [`MatchConditions`] stand alone
//! too, because webhooks have them as well. [`type_check`] warns of what a policy gets wrong of the
//! kinds that it names.
//!
//! Invariants: pure, without IO, clock and randomness; a compiled policy is shared and never
//! changes; an evaluation ends within the budgets of [`budgets`] and never panics. A question to
//! the authorizer that cannot be answered at once makes the evaluation [`Pending`]: the caller
//! finds the answers and evaluates again.
//!
//! Not here: which requests a policy is asked about, where parameters come from, and what becomes
//! of a denial.

pub mod budgets;
mod compiler;
mod conditions;
mod environment;
mod evaluation;
mod expression;
mod inputs;
pub mod mutation;
mod policy;
#[cfg(test)]
mod tests;
mod type_check;
mod types;

pub use compiler::{FailurePolicy, MAX_VARIABLES};
pub use conditions::{ConditionsVerdict, MatchConditions};
pub use environment::Environments;
pub use expression::Problem;
pub use inputs::{Inputs, Pending};
pub use policy::{AnnotationValue, Denial, Findings, Policy};
pub use type_check::{CheckedKind, ExpressionWarning, type_check};
