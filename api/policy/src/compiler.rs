//! The compiler of policies: what policies of both kinds have, and each expression in its place.
//!
//! Invariants: every expression is compiled once; one that does not compile is an error wherever it
//! would be evaluated; a variable sees those before it only.

use std::collections::HashSet;

use quorate_cel::environment::Environment;
use quorate_cel::eval::LazyVariable;
use quorate_cel::program::Program;
use quorate_cel::types::Type;
use quorate_meta::{Path, Value};

use crate::conditions::MatchConditions;
use crate::environment::{Age, Environments, ObjectTypes, OwnVariable, Uses, slots};
use crate::expression::{Expected, Problem, compile};

/// Variables of one policy, at most.
pub const MAX_VARIABLES: usize = 1_000;

/// Where the expressions of a `spec` are: the list, and the field of each item.
const EXPRESSIONS: [(&str, &[&str]); 7] = [
    ("matchConditions", &["expression"]),
    ("variables", &["expression"]),
    ("validations", &["expression"]),
    ("validations", &["messageExpression"]),
    ("auditAnnotations", &["valueExpression"]),
    ("mutations", &["applyConfiguration", "expression"]),
    ("mutations", &["jsonPatch", "expression"]),
];

/// What becomes of an expression that cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The write is refused, as if a validation failed.
    Fail,
    /// The write is admitted, as if nothing was asked.
    Ignore,
}

/// What policies of both kinds have.
#[derive(Debug)]
pub(crate) struct PolicyFrame {
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) conditions: MatchConditions,
    pub(crate) variables: Vec<LazyVariable>,
    /// A map with an entry for each variable, as `has(variables.x)` sees them.
    pub(crate) declared: Value,
    /// The variables that the activation has values for, and the policy's own.
    pub(crate) environment: Environment,
}

impl FailurePolicy {
    /// That of a `spec`.
    #[must_use]
    pub fn read(spec: &Value) -> Self {
        match spec.str_at(&["failurePolicy"]) {
            Some("Ignore") => Self::Ignore,
            _ => Self::Fail,
        }
    }
}

/// An expression in its place.
#[derive(Debug)]
pub(crate) struct Expression {
    /// Without spaces around it.
    pub(crate) source: String,
    /// The error is a text for clients.
    pub(crate) program: Result<Program, String>,
}

/// The items of a list of a `spec`.
pub(crate) fn items<'v>(spec: &'v Value, field: &str) -> &'v [Value] {
    spec.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// Every expression of a `spec`.
fn expressions_of(spec: &Value) -> HashSet<&str> {
    let texts = EXPRESSIONS.iter().flat_map(|(list, field)| {
        items(spec, list).iter().filter_map(move |item| item.str_at(field))
    });
    texts.map(str::trim).collect()
}

/// Compiles the expressions of one policy.
pub(crate) struct Compiler<'c> {
    environments: &'c Environments,
    stored: HashSet<&'c str>,
    has_params: bool,
    /// The variables so far.
    own: Vec<OwnVariable>,
    problems: Vec<Problem>,
}

impl<'c> Compiler<'c> {
    /// Compiles what policies of both kinds have, of a `spec` that replaces `old`.
    pub(crate) fn new(
        environments: &'c Environments,
        spec: &Value,
        old: Option<&'c Value>,
    ) -> (Self, PolicyFrame) {
        let stored = old.map(expressions_of).unwrap_or_default();
        let has_params = spec.get("paramKind").is_some_and(|kind| !kind.is_null());
        let (conditions, problems) = MatchConditions::compile(
            environments,
            items(spec, "matchConditions"),
            &Path::new("spec").child("matchConditions"),
            has_params,
            &stored,
        );
        let mut compiler = Self { environments, stored, has_params, own: Vec::new(), problems };
        let variables = compiler.variables(items(spec, "variables"));
        let declared =
            compiler.own.iter().map(|variable| (&*variable.name, Value::Bool(true))).collect();
        let frame = PolicyFrame {
            failure_policy: FailurePolicy::read(spec),
            conditions,
            variables,
            declared: Value::Map(declared),
            environment: compiler.environment(Age::Stored, Uses::ALL),
        };
        (compiler, frame)
    }

    /// What is wrong with the expressions, in the order in which they were compiled.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    fn environment(&self, age: Age, uses: Uses) -> Environment {
        let uses = Uses { params: self.has_params, ..uses };
        self.environments.environment(age, uses, &self.own, ObjectTypes::default())
    }

    /// Whether an expression is stored already.
    pub(crate) fn age(&self, source: &str) -> Age {
        if self.stored.contains(source.trim()) { Age::Stored } else { Age::New }
    }

    /// Compiles an expression in an environment.
    pub(crate) fn expression(
        &mut self,
        environment: &Environment,
        source: &str,
        expected: Expected,
        path: impl FnOnce() -> Path,
    ) -> Expression {
        let source = source.trim().to_owned();
        let naming = self.environments.names().naming;
        let program = compile(environment, &source, expected, naming);
        if let Err(text) = &program
            && !source.is_empty()
        {
            self.problems.push(Problem {
                path: path(),
                source: source.clone(),
                text: text.clone(),
            });
        }
        Expression { source, program }
    }

    /// Environments for new expressions and for stored ones, after the variables so far.
    pub(crate) fn by_age(&self, uses: Uses) -> ByAge {
        ByAge { new: self.environment(Age::New, uses), stored: self.environment(Age::Stored, uses) }
    }

    fn variables(&mut self, list: &[Value]) -> Vec<LazyVariable> {
        let mut variables = Vec::new();
        for (index, variable) in list.iter().take(MAX_VARIABLES).enumerate() {
            let text = |field: &str| variable.str_at(&[field]).unwrap_or_default();
            let path = || Path::new("spec").child("variables").index(index).child("expression");
            let source = text("expression");
            let environment = self.environment(self.age(source), Uses::ALL);
            let compiled = self.expression(&environment, source, Expected::Anything, path);
            let name = text("name").to_owned();
            // Whatever reads a variable that does not compile is not refused for that as well.
            let value_type = match &compiled.program {
                Ok(program) => program.result_type().clone(),
                Err(_) => Type::Dyn,
            };
            if let Ok(program) = compiled.program {
                let slot = slots::FIRST_OWN + index;
                variables.push(LazyVariable { slot, name: name.as_str().into(), program });
            }
            self.own.push(OwnVariable { name, value_type });
        }
        variables
    }
}

/// An environment for new expressions and one for those that are stored.
pub(crate) struct ByAge {
    new: Environment,
    stored: Environment,
}

impl ByAge {
    /// The one for an expression of this age.
    pub(crate) const fn of(&self, age: Age) -> &Environment {
        match age {
            Age::New => &self.new,
            Age::Stored => &self.stored,
        }
    }
}
