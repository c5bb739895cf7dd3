//! Match conditions: whether a policy or webhook is asked at all.
//!
//! Invariants: one condition that is false decides, whatever the others are; errors count only
//! where none is false; all conditions together have one budget.

use std::collections::HashSet;

use quorate_cel::environment::Environment;
use quorate_cel::eval::{Activation, EvalError};
use quorate_cel::naming::in_profile;
use quorate_cel::program::{Budget, CALL_COST_MAX, Limits, Program};
use quorate_cel::value::Value as Read;
use quorate_meta::{Path, Value};

use crate::budgets::CONDITIONS_COST_MAX;
use crate::environment::{Age, Environments, ObjectTypes, Uses};
use crate::expression::{Expected, OUT_OF_BUDGET, Problem, compile, failed};
use crate::inputs::{Inputs, Pending};

/// The match conditions of one policy or webhook.
#[derive(Debug)]
pub struct MatchConditions {
    conditions: Vec<Condition>,
    environment: Environment,
}

#[derive(Debug)]
struct Condition {
    name: String,
    source: String,
    program: Result<Program, String>,
}

/// What match conditions say of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionsVerdict {
    /// All hold.
    Hold,
    /// The condition of this name does not.
    Fails(String),
    /// Some cannot be evaluated, and none is false; the text says why.
    Error(String),
}

impl MatchConditions {
    /// Compiles a list of match conditions that stands at `path`; the expressions of `stored` may
    /// use every library version.
    #[must_use]
    pub fn compile(
        environments: &Environments,
        list: &[Value],
        path: &Path,
        has_params: bool,
        stored: &HashSet<&str>,
    ) -> (Self, Vec<Problem>) {
        let uses = Uses { params: has_params, variables: false, ..Uses::ALL };
        let environment = |age| environments.environment(age, uses, &[], ObjectTypes::default());
        let (new, old) = (environment(Age::New), environment(Age::Stored));
        let mut problems = Vec::new();
        let mut conditions = Vec::new();
        for (index, condition) in list.iter().enumerate() {
            let text = |field: &str| condition.str_at(&[field]).unwrap_or_default();
            let source = text("expression").trim();
            let environment = if stored.contains(source) { &old } else { &new };
            let naming = environments.names().naming;
            let program = compile(environment, source, Expected::Bool, naming);
            if let Err(text) = &program
                && !source.is_empty()
            {
                let path = path.index(index).child("expression");
                problems.push(Problem { path, source: source.to_owned(), text: text.clone() });
            }
            let (name, source) = (text("name").to_owned(), source.to_owned());
            conditions.push(Condition { name, source, program });
        }
        (Self { conditions, environment: old }, problems)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Evaluates the conditions for a request.
    ///
    /// # Errors
    /// When answers of the authorizer are missing.
    pub fn evaluate(
        &self,
        environments: &Environments,
        inputs: &Inputs<'_>,
    ) -> Result<ConditionsVerdict, Pending> {
        if self.conditions.is_empty() {
            return Ok(ConditionsVerdict::Hold);
        }
        let activation = inputs.activation(environments, &self.environment, &Value::Null);
        self.evaluate_with(environments, &activation)
    }

    /// Evaluates the conditions with values of the variables.
    pub(crate) fn evaluate_with<'a>(
        &'a self,
        environments: &Environments,
        activation: &'a Activation<'a>,
    ) -> Result<ConditionsVerdict, Pending> {
        let naming = environments.names().naming;
        let mut budget = Budget::new(CONDITIONS_COST_MAX);
        let (mut errors, mut pending) = (Vec::new(), false);
        for condition in &self.conditions {
            let program = match &condition.program {
                Ok(program) => program,
                Err(text) => {
                    errors.push(format!("compilation error: {text}"));
                    continue;
                }
            };
            let limits = Limits { cost_max: CALL_COST_MAX, interrupted: None };
            let evaluation = program.evaluate_within(activation, limits);
            if !budget.spend(evaluation.cost) {
                return Ok(ConditionsVerdict::Error(OUT_OF_BUDGET.to_owned()));
            }
            match evaluation.result {
                Ok(Read::Bool(false)) => {
                    return Ok(ConditionsVerdict::Fails(condition.name.clone()));
                }
                Ok(_) => {}
                Err(EvalError::Pending) => pending = true,
                Err(error) => {
                    let error = in_profile(naming, &error.to_string()).into_owned();
                    errors.push(failed(&condition.source, &error));
                }
            }
        }
        match (pending, errors.len()) {
            (true, _) => Err(Pending),
            (false, 0) => Ok(ConditionsVerdict::Hold),
            (false, 1) => Ok(ConditionsVerdict::Error(errors.swap_remove(0))),
            (false, _) => Ok(ConditionsVerdict::Error(format!("[{}]", errors.join(", ")))),
        }
    }
}
