//! A compiled policy: the expressions of a ValidatingAdmissionPolicy's `spec`.
//!
//! Invariants: every expression is compiled once; one that does not compile is an error wherever it
//! would be evaluated; a variable sees those before it only.

mod evaluate;

use std::collections::HashSet;

use quorate_cel::environment::Environment;
use quorate_cel::eval::LazyVariable;
use quorate_cel::program::Program;
use quorate_cel::types::Type;
use quorate_meta::{Path, Reason, Value};

use crate::conditions::MatchConditions;
use crate::environment::{Age, Environments, ObjectTypes, OwnVariable, Uses, slots};
use crate::expression::{Expected, Problem, compile};

pub use evaluate::{AnnotationValue, Denial, Findings};

/// Variables of one policy, at most.
pub const MAX_VARIABLES: usize = 1_000;

/// What becomes of an expression that cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It counts as a failed validation.
    Fail,
    /// It counts as a validation that holds.
    Ignore,
}

/// A compiled policy.
#[derive(Debug)]
pub struct Policy {
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) conditions: MatchConditions,
    pub(crate) variables: Vec<LazyVariable>,
    /// A map with an entry for each variable, as `has(variables.x)` sees them.
    pub(crate) declared: Value,
    pub(crate) validations: Vec<Validation>,
    pub(crate) annotations: Vec<AuditAnnotation>,
    /// The variables that the activation has values for, and the policy's own.
    pub(crate) environment: Environment,
}

/// An expression in its place.
#[derive(Debug)]
pub(crate) struct Expression {
    /// Without spaces around it.
    pub(crate) source: String,
    /// The error is a text for clients.
    pub(crate) program: Result<Program, String>,
}

#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    /// Without spaces around it; empty for none.
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) struct AuditAnnotation {
    pub(crate) key: String,
    pub(crate) value: Expression,
}

impl Policy {
    /// Compiles the `spec` of a policy, and tells what is wrong with its expressions, in the order
    /// in which the fields are checked. The expressions that `old` has already, a `spec` too, may
    /// use every library version; empty ones are no problem here.
    #[must_use]
    pub fn compile(
        environments: &Environments,
        spec: &Value,
        old: Option<&Value>,
    ) -> (Self, Vec<Problem>) {
        let stored = old.map(expressions_of).unwrap_or_default();
        let has_params = spec.get("paramKind").is_some_and(|kind| !kind.is_null());
        let (conditions, problems) = MatchConditions::compile(
            environments,
            items(spec, "matchConditions"),
            &Path::new("spec").child("matchConditions"),
            has_params,
            &stored,
        );
        let mut compiler = Compiler { environments, stored, has_params, own: Vec::new(), problems };
        let variables = compiler.variables(items(spec, "variables"));
        let validations = compiler.validations(items(spec, "validations"));
        let annotations = compiler.annotations(items(spec, "auditAnnotations"));
        let environment = compiler.environment(Age::Stored, true);
        let declared =
            compiler.own.iter().map(|variable| (&*variable.name, Value::Bool(true))).collect();
        let failure_policy = match spec.str_at(&["failurePolicy"]) {
            Some("Ignore") => FailurePolicy::Ignore,
            _ => FailurePolicy::Fail,
        };
        let policy = Self {
            failure_policy,
            conditions,
            variables,
            declared: Value::Map(declared),
            validations,
            annotations,
            environment,
        };
        (policy, compiler.problems)
    }

    /// What becomes of errors.
    #[must_use]
    pub const fn failure_policy(&self) -> FailurePolicy {
        self.failure_policy
    }
}

fn items<'v>(spec: &'v Value, field: &str) -> &'v [Value] {
    spec.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// Every expression of a `spec`.
fn expressions_of(spec: &Value) -> HashSet<&str> {
    let fields = [
        ("matchConditions", "expression"),
        ("variables", "expression"),
        ("validations", "expression"),
        ("validations", "messageExpression"),
        ("auditAnnotations", "valueExpression"),
    ];
    let texts = fields.into_iter().flat_map(|(list, field)| {
        items(spec, list).iter().filter_map(move |item| item.str_at(&[field]))
    });
    texts.map(str::trim).collect()
}

struct Compiler<'c> {
    environments: &'c Environments,
    stored: HashSet<&'c str>,
    has_params: bool,
    /// The variables so far.
    own: Vec<OwnVariable>,
    problems: Vec<Problem>,
}

impl Compiler<'_> {
    fn environment(&self, age: Age, authorizer: bool) -> Environment {
        let uses = Uses { params: self.has_params, authorizer, variables: true };
        self.environments.environment(age, uses, &self.own, ObjectTypes::default())
    }

    /// Whether an expression is stored already.
    fn age(&self, source: &str) -> Age {
        if self.stored.contains(source.trim()) { Age::Stored } else { Age::New }
    }

    /// Compiles an expression in an environment.
    fn expression(
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
    fn by_age(&self, authorizer: bool) -> ByAge {
        ByAge {
            new: self.environment(Age::New, authorizer),
            stored: self.environment(Age::Stored, authorizer),
        }
    }

    fn variables(&mut self, list: &[Value]) -> Vec<LazyVariable> {
        let mut variables = Vec::new();
        for (index, variable) in list.iter().take(MAX_VARIABLES).enumerate() {
            let text = |field: &str| variable.str_at(&[field]).unwrap_or_default();
            let path = || Path::new("spec").child("variables").index(index).child("expression");
            let source = text("expression");
            let environment = self.environment(self.age(source), true);
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

    fn validations(&mut self, list: &[Value]) -> Vec<Validation> {
        let (full, messages) = (self.by_age(true), self.by_age(false));
        let mut validations = Vec::with_capacity(list.len());
        for (index, validation) in list.iter().enumerate() {
            let text = |field: &str| validation.str_at(&[field]).unwrap_or_default();
            let path =
                |field: &str| Path::new("spec").child("validations").index(index).child(field);
            let source = text("expression");
            let environment = full.of(self.age(source));
            let expression =
                self.expression(environment, source, Expected::Bool, || path("expression"));
            let source = text("messageExpression");
            let environment = messages.of(self.age(source));
            let message_expression = (!source.trim().is_empty()).then(|| {
                self.expression(environment, source, Expected::Text, || path("messageExpression"))
            });
            validations.push(Validation {
                expression,
                message: text("message").trim().to_owned(),
                message_expression,
                reason: reason(text("reason")),
            });
        }
        validations
    }

    fn annotations(&mut self, list: &[Value]) -> Vec<AuditAnnotation> {
        let environments = self.by_age(false);
        let mut annotations = Vec::with_capacity(list.len());
        for (index, annotation) in list.iter().enumerate() {
            let text = |field: &str| annotation.str_at(&[field]).unwrap_or_default();
            let path = || {
                Path::new("spec").child("auditAnnotations").index(index).child("valueExpression")
            };
            let source = text("valueExpression");
            let environment = environments.of(self.age(source));
            let value = self.expression(environment, source, Expected::TextOrNull, path);
            annotations.push(AuditAnnotation { key: text("key").to_owned(), value });
        }
        annotations
    }
}

/// An environment for new expressions and one for those that are stored.
struct ByAge {
    new: Environment,
    stored: Environment,
}

impl ByAge {
    const fn of(&self, age: Age) -> &Environment {
        match age {
            Age::New => &self.new,
            Age::Stored => &self.stored,
        }
    }
}

/// The reason of a refusal, as clients name it.
fn reason(text: &str) -> Reason {
    match text {
        "Unauthorized" => Reason::Unauthorized,
        "Forbidden" => Reason::Forbidden,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        _ => Reason::Invalid,
    }
}
