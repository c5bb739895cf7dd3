//! The evaluation of expressions for one request.
//!
//! Invariants: an expression costs at most what one call may cost; all of them together, with the
//! variables that they read, at most the budget.

use std::rc::Rc;

use quorate_cel::eval::{EvalError, LazyVariables};
use quorate_cel::naming::in_profile;
use quorate_cel::program::{Budget, CALL_COST_MAX, Limits};
use quorate_cel::value::Value as Read;

use crate::budgets::VALIDATIONS_COST_MAX;
use crate::compiler::Expression;
use crate::environment::Environments;
use crate::expression::failed;

/// Why an expression has no value.
pub(crate) enum Failure {
    /// The text says so.
    Error(String),
    /// The budget of the evaluation is spent.
    OutOfBudget,
    Pending,
}

/// The evaluation of expressions with the values of one request, within one budget.
pub(crate) struct Evaluation<'e, 'a> {
    environments: &'e Environments,
    variables: Rc<LazyVariables<'a>>,
    budget: Budget,
}

impl<'e, 'a> Evaluation<'e, 'a> {
    pub(crate) fn new(environments: &'e Environments, variables: Rc<LazyVariables<'a>>) -> Self {
        Self { environments, variables, budget: Budget::new(VALIDATIONS_COST_MAX) }
    }

    /// Gives it the whole budget again.
    pub(crate) fn refill(&mut self) {
        self.budget = Budget::new(VALIDATIONS_COST_MAX);
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &'a Expression) -> Result<Read<'a>, Failure> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(text) => return Err(Failure::Error(format!("compilation error: {text}"))),
        };
        let limits = Limits { cost_max: CALL_COST_MAX, interrupted: None };
        let evaluation = program.evaluate_with_variables(&self.variables, limits);
        if matches!(evaluation.result, Err(EvalError::Pending)) {
            return Err(Failure::Pending);
        }
        let cost = evaluation.cost.saturating_add(self.variables.take_cost());
        if !self.budget.spend(cost) {
            return Err(Failure::OutOfBudget);
        }
        evaluation.result.map_err(|error| {
            let error =
                in_profile(self.environments.names().naming, &error.to_string()).into_owned();
            Failure::Error(failed(&expression.source, &error))
        })
    }
}
