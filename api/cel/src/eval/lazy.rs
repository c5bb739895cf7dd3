//! Variables that get their values when an expression first reads them.
//!
//! Invariants: a variable is evaluated at most once for all expressions that share the values, within a limit of its own; one
//! that fails is an error wherever it is read; a variable reads variables before it only, and not through more than
//! [`NESTING_MAX`] others. Not here: where the variables come from.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use super::{Activation, Context, EvalError, Evaluated, evaluate};
use crate::program::{CALL_COST_MAX, Program};
use crate::value::Value;

/// A variable may be read within so many others.
pub const NESTING_MAX: u32 = 24;

/// A variable that an expression defines.
#[derive(Debug)]
pub struct LazyVariable {
    /// Its slot in the environment.
    pub slot: usize,
    /// Its name in errors.
    pub name: Arc<str>,
    /// Its expression.
    pub program: Program,
}

/// The values of such variables for the expressions of one evaluation.
#[derive(Debug)]
pub struct LazyVariables<'a> {
    variables: &'a [LazyVariable],
    activation: &'a Activation<'a>,
    /// By place among the variables.
    values: Vec<OnceCell<Evaluated<'a>>>,
    cost: Cell<u64>,
    nesting: Cell<u32>,
}

impl<'a> LazyVariables<'a> {
    /// No value yet; the activation has those of all other variables.
    #[must_use]
    pub fn new(variables: &'a [LazyVariable], activation: &'a Activation<'a>) -> Rc<Self> {
        let values = variables.iter().map(|_| OnceCell::new()).collect();
        Rc::new(Self { variables, activation, values, cost: Cell::new(0), nesting: Cell::new(0) })
    }

    /// The activation.
    pub(crate) fn activation(&self) -> &'a Activation<'a> {
        self.activation
    }

    /// What variables have cost since this was asked last.
    #[must_use]
    pub fn take_cost(&self) -> u64 {
        self.cost.take()
    }

    /// The value of the variable in a slot; `None` when there is no such variable.
    pub(super) fn value(self: &Rc<Self>, slot: u32) -> Option<Evaluated<'a>> {
        let place = self.variables.iter().position(|variable| variable.slot == slot as usize)?;
        let (variable, known) = (&self.variables[place], &self.values[place]);
        if let Some(value) = known.get() {
            return Some(value.clone());
        }
        let value = self.evaluate(variable);
        if !matches!(value, Err(EvalError::Pending | EvalError::Interrupted)) {
            // Nothing else fills the cell: a variable is never read within itself.
            let _ = known.set(value.clone());
        }
        Some(value)
    }

    fn evaluate(self: &Rc<Self>, variable: &'a LazyVariable) -> Evaluated<'a> {
        let nesting = self.nesting.get();
        if nesting == NESTING_MAX {
            return Err(EvalError::new("variables are nested too deeply"));
        }
        self.nesting.set(nesting + 1);
        let plan = variable.program.plan_of();
        let mut context = Context::new(self.activation, plan.locals, CALL_COST_MAX, None)
            .with_lazy_variables(self.clone());
        let value = evaluate(&plan.root, &mut context);
        self.nesting.set(nesting);
        self.cost.set(self.cost.get().saturating_add(context.cost()));
        match value {
            Err(error @ (EvalError::Pending | EvalError::Interrupted)) => Err(error),
            Err(error) => {
                let name = &variable.name;
                Err(EvalError::new(format!(
                    "composited variable \"{name}\" fails to evaluate: {error}"
                )))
            }
            Ok(Value::Error(error)) => Err((*error).clone()),
            Ok(value) => Ok(value),
        }
    }
}
