//! Evaluation of a policy for one request with one parameter object.
//!
//! Invariants: every validation is evaluated, whatever the others say; a message is made only for
//! one that fails; when the budget is spent, that is the one finding. Variables are evaluated once
//! for validations, messages and audit annotations.

use quorate_cel::eval::LazyVariables;
use quorate_cel::value::Value as Read;
use quorate_meta::Reason;

use super::{FailurePolicy, Policy, PolicyFrame, Validation};
use crate::budgets::{ANNOTATION_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::conditions::ConditionsVerdict;
use crate::environment::Environments;
use crate::evaluation::{Evaluation, Failure};
use crate::expression::OUT_OF_BUDGET;
use crate::inputs::{Inputs, Pending};

/// What a policy finds in a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// The failed validations, in order.
    pub denials: Vec<Denial>,
    /// Values of audit annotations, in order; a key may be there more than once.
    pub annotations: Vec<AnnotationValue>,
    /// Why audit annotations have no value; each is a refusal whatever the actions of the binding.
    pub annotation_errors: Vec<String>,
}

/// A validation that fails, or an error that counts as one.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    /// Its place among the validations; 0 where none in particular fails.
    pub index: usize,
    /// What the client is told.
    pub message: String,
    /// The reason of the refusal.
    pub reason: Reason,
}

/// The value of an audit annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationValue {
    /// The key, without the policy's name.
    pub key: String,
    /// The value, without spaces around it, and not empty.
    pub value: String,
}

impl Policy {
    /// What the policy finds in a request.
    ///
    /// # Errors
    /// When answers of the authorizer are missing.
    pub fn evaluate(
        &self,
        environments: &Environments,
        inputs: &Inputs<'_>,
    ) -> Result<Findings, Pending> {
        let PolicyFrame { conditions, variables, declared, environment, .. } = &self.frame;
        let activation = inputs.activation(environments, environment, declared);
        if !conditions.is_empty() {
            match conditions.evaluate_with(environments, &activation)? {
                ConditionsVerdict::Hold => {}
                ConditionsVerdict::Fails(_) => return Ok(Findings::default()),
                ConditionsVerdict::Error(text) => {
                    return Ok(Findings { denials: self.error(0, text), ..Findings::default() });
                }
            }
        }
        let variables = LazyVariables::new(variables, &activation);
        let mut evaluation = Evaluation::new(environments, variables);
        let denials = self.denials(&mut evaluation)?;
        evaluation.refill();
        self.annotate(denials, &mut evaluation)
    }

    fn denials<'a>(&'a self, evaluation: &mut Evaluation<'_, 'a>) -> Result<Vec<Denial>, Pending> {
        let (mut denials, mut failed, mut pending) = (Vec::new(), Vec::new(), false);
        for (index, validation) in self.validations.iter().enumerate() {
            match evaluation.value(&validation.expression) {
                Ok(Read::Bool(true)) => {}
                Ok(_) => {
                    failed.push((denials.len(), validation));
                    let message = String::new();
                    denials.push(Denial { index, message, reason: validation.reason.clone() });
                }
                Err(Failure::Error(text)) => denials.extend(self.error(index, text)),
                Err(Failure::OutOfBudget) => return Ok(self.error(0, OUT_OF_BUDGET.to_owned())),
                Err(Failure::Pending) => pending = true,
            }
        }
        if pending {
            return Err(Pending);
        }
        for (at, validation) in failed {
            denials[at].message = message(evaluation, validation)?;
        }
        Ok(denials)
    }

    fn annotate<'a>(
        &'a self,
        denials: Vec<Denial>,
        evaluation: &mut Evaluation<'_, 'a>,
    ) -> Result<Findings, Pending> {
        let mut findings = Findings { denials, ..Findings::default() };
        for annotation in &self.annotations {
            match evaluation.value(&annotation.value) {
                Ok(Read::String(text)) => {
                    let value = cut(text.trim(), ANNOTATION_BYTES_MAX);
                    if !value.is_empty() {
                        let (key, value) = (annotation.key.clone(), value.to_owned());
                        findings.annotations.push(AnnotationValue { key, value });
                    }
                }
                Ok(_) => {}
                Err(Failure::Error(text)) => {
                    if self.frame.failure_policy == FailurePolicy::Fail {
                        findings.annotation_errors.push(text);
                    }
                }
                Err(Failure::OutOfBudget) => {
                    // Nothing else that was found counts then.
                    let denials = self.error(0, OUT_OF_BUDGET.to_owned());
                    return Ok(Findings { denials, ..Findings::default() });
                }
                Err(Failure::Pending) => return Err(Pending),
            }
        }
        Ok(findings)
    }

    /// An error as the failure policy has it.
    fn error(&self, index: usize, message: String) -> Vec<Denial> {
        match self.frame.failure_policy {
            FailurePolicy::Fail => vec![Denial { index, message, reason: Reason::Invalid }],
            FailurePolicy::Ignore => Vec::new(),
        }
    }
}

/// What the client is told of a failed validation: what its expression makes, or its message,
/// or the validation itself.
fn message<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    validation: &'a Validation,
) -> Result<String, Pending> {
    if let Some(expression) = &validation.message_expression {
        match evaluation.value(expression) {
            Ok(Read::String(text)) => {
                let text = text.trim();
                let fits = text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
                if fits && !text.is_empty() {
                    return Ok(text.to_owned());
                }
            }
            Err(Failure::Pending) => return Err(Pending),
            Ok(_) | Err(_) => {}
        }
    }
    if !validation.message.is_empty() {
        return Ok(validation.message.clone());
    }
    Ok(format!("failed expression: {}", validation.expression.source))
}

/// The text up to so many bytes, and no part of a character.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
