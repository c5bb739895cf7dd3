//! Compiled programs, shared between evaluations.
//!
//! Invariants: a program never changes, is `Send + Sync`, and holds nothing of the environment but the overloads that it calls.
//!
//! ```
//! use std::sync::Arc;
//!
//! use quorate_cel::environment::{Environment, Library};
//! use quorate_cel::eval::Activation;
//! use quorate_cel::program::{Budget, Program};
//! use quorate_cel::types::Type;
//! use quorate_cel::value::{Shape, Value};
//!
//! // The library is built once and shared; an environment adds variables.
//! let library = Arc::new(Library::stored());
//! let environment = Environment::new(library).with_variable("self", Type::Dyn);
//! let program = Program::compile(&environment, "self.replicas <= 5").unwrap();
//!
//! // Data is read in place, from a tree or from JSON text.
//! let activation = Activation::new(&environment).with(0, Shape::DYN.read_json(br#"{"replicas": 3}"#));
//! let mut budget = Budget::new(1_000);
//! let evaluation = program.evaluate(&activation, &mut budget);
//! assert!(matches!(evaluation.result, Ok(Value::Bool(true))));
//! assert_eq!((evaluation.cost, budget.left()), (3, 997));
//! ```

use std::fmt;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use crate::checker;
use crate::environment::Environment;
use crate::error::{Issues, Stage};
use crate::eval::{Activation, Context, EvalError, LazyVariables, evaluate};
use crate::parser;
use crate::plan::{Plan, plan};
use crate::types::Type;
use crate::value::Value;

/// What one evaluation may cost.
pub const CALL_COST_MAX: u64 = 1_000_000;
/// What all rules of an object together may cost in one request; the same for all validations of a policy's binding.
pub const OBJECT_COST_MAX: u64 = 10_000_000;
/// What all match conditions of a webhook or policy together may cost in one request.
pub const MATCH_CONDITIONS_COST_MAX: u64 = 2_500_000;
/// What one rule of a definition may cost by its estimate, times the places that it can have in an object.
pub const RULE_ESTIMATE_MAX: u64 = 10_000_000;
/// What all rules of a definition together may cost by their estimates.
pub const DEFINITION_ESTIMATE_MAX: u64 = 100_000_000;

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    plan: Plan,
    result_type: Type,
}

/// Why an expression does not compile.
#[derive(Debug)]
pub enum CompileError {
    /// Syntax or types.
    Source(Issues),
    /// A part of it that is computed while it is planned fails.
    Plan(EvalError),
}

/// What several evaluations together may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    left: u64,
}

/// What an evaluation gave, and what it cost.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value or the error.
    pub result: Result<Value<'a>, EvalError>,
    /// The cost.
    pub cost: u64,
}

/// How an evaluation may be ended from elsewhere, and what it may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// What it may cost.
    pub cost_max: u64,
    /// Set when it has to end.
    pub interrupted: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { cost_max: CALL_COST_MAX, interrupted: None }
    }
}

impl Budget {
    /// A budget of that many units.
    #[must_use]
    pub const fn new(units: u64) -> Self {
        Self { left: units }
    }

    /// What is left of it.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Takes the cost of an evaluation; false, and nothing is left, when it is more than there is.
    pub fn spend(&mut self, cost: u64) -> bool {
        let enough = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        enough
    }
}

impl Program {
    /// Parses, checks and plans an expression.
    ///
    /// # Errors
    /// Whatever is wrong with it, in the first stage that finds something.
    pub fn compile(environment: &Environment, source: &str) -> Result<Self, CompileError> {
        let ast = parser::parse_with(source, environment.library().macros())
            .map_err(CompileError::Source)?;
        let checked = checker::check(environment, ast).map_err(CompileError::Source)?;
        Self::plan(environment, &checked)
    }

    /// Plans a checked expression.
    ///
    /// # Errors
    /// When a part that is computed while planning fails, such as a constant pattern.
    pub fn plan(
        environment: &Environment,
        checked: &checker::Checked,
    ) -> Result<Self, CompileError> {
        let result_type = checked.result_type().clone();
        let plan = plan(environment, checked).map_err(CompileError::Plan)?;
        Ok(Self { plan, result_type })
    }

    /// Static type of the result.
    pub const fn result_type(&self) -> &Type {
        &self.result_type
    }

    /// Evaluates the program and takes its cost from `budget`.
    pub fn evaluate<'a>(
        &'a self,
        activation: &'a Activation<'a>,
        budget: &mut Budget,
    ) -> Evaluation<'a> {
        let evaluation = self.evaluate_within(activation, Limits::default());
        budget.spend(evaluation.cost);
        evaluation
    }

    /// Evaluates the program with variables that get their values when it reads them; what they cost is not in its cost.
    pub fn evaluate_with_variables<'a>(
        &'a self,
        variables: &Rc<LazyVariables<'a>>,
        limits: Limits<'a>,
    ) -> Evaluation<'a> {
        let activation = variables.activation();
        let mut context =
            Context::new(activation, self.plan.locals, limits.cost_max, limits.interrupted)
                .with_lazy_variables(variables.clone());
        let result = evaluate(&self.plan.root, &mut context);
        Evaluation { result, cost: context.cost() }
    }

    /// The planned form.
    pub(crate) const fn plan_of(&self) -> &Plan {
        &self.plan
    }

    /// Evaluates the program within limits of the caller's own.
    pub fn evaluate_within<'a>(
        &'a self,
        activation: &'a Activation<'a>,
        limits: Limits<'a>,
    ) -> Evaluation<'a> {
        let mut context =
            Context::new(activation, self.plan.locals, limits.cost_max, limits.interrupted);
        let result = evaluate(&self.plan.root, &mut context);
        Evaluation { result, cost: context.cost() }
    }
}

impl CompileError {
    /// Name of the stage that found it: `parse`, `check` or `program`.
    pub const fn stage(&self) -> &'static str {
        match self {
            Self::Source(issues) => match issues.stage {
                Stage::Parse => "parse",
                Stage::Check => "check",
            },
            Self::Plan(_) => "program",
        }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(issues) => issues.fmt(f),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CompileError {}
