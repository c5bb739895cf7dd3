//! A compiled mutating policy: the expressions of a MutatingAdmissionPolicy's `spec` (KEP-3962).
//!
//! Invariants: a mutation sees the object as the one before has left it, and evaluates the variables
//! that it reads anew; each has a budget of its own.
//!
//! Not here: in which order policies are asked, and defaults after a change.

mod change;
#[cfg(test)]
mod tests;

use quorate_cel::environment::Environment;
use quorate_cel::eval::LazyVariables;
use quorate_cel::library::mutation::{applied_object, patch_operations};
use quorate_cel::value::Value as Read;
use quorate_meta::{Path, Value};

use crate::compiler::{Compiler, Expression, FailurePolicy, PolicyFrame, items};
use crate::conditions::ConditionsVerdict;
use crate::environment::{Environments, Uses};
use crate::evaluation::{Evaluation, Failure};
use crate::expression::{Expected, OUT_OF_BUDGET, Problem};
use crate::inputs::{Inputs, Pending};

pub use change::{Change, apply_configuration, undeclared_fields};
pub use quorate_cel::library::mutation::PatchOperation;

/// A compiled mutating policy.
#[derive(Debug)]
pub struct MutatingPolicy {
    frame: PolicyFrame,
    mutations: Vec<Mutation>,
    reinvocation: Reinvocation,
}

/// Whether a policy is asked again after later ones have changed the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reinvocation {
    /// It is asked once.
    Never,
    /// It is asked again.
    IfNeeded,
}

#[derive(Debug)]
struct Mutation {
    patch_type: PatchType,
    expression: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchType {
    ApplyConfiguration,
    JsonPatch,
}

impl MutatingPolicy {
    /// Compiles the `spec` of a policy, and tells what is wrong with its expressions, in the order
    /// in which the fields are checked. The expressions that `old` has already, a `spec` too, may
    /// use every library version; empty ones are no problem here.
    #[must_use]
    pub fn compile(
        environments: &Environments,
        spec: &Value,
        old: Option<&Value>,
    ) -> (Self, Vec<Problem>) {
        let (mut compiler, frame) = Compiler::new(environments, spec, old);
        let mutations = compile_mutations(&mut compiler, items(spec, "mutations"));
        let reinvocation = match spec.str_at(&["reinvocationPolicy"]) {
            Some("IfNeeded") => Reinvocation::IfNeeded,
            _ => Reinvocation::Never,
        };
        (Self { frame, mutations, reinvocation }, compiler.into_problems())
    }

    /// What becomes of errors.
    #[must_use]
    pub const fn failure_policy(&self) -> FailurePolicy {
        self.frame.failure_policy
    }

    /// Whether it is asked again.
    #[must_use]
    pub const fn reinvocation(&self) -> Reinvocation {
        self.reinvocation
    }

    /// The number of its mutations.
    #[must_use]
    pub fn mutations(&self) -> usize {
        self.mutations.len()
    }

    /// Whether the request is one that the policy is about.
    ///
    /// # Errors
    /// When answers of the authorizer are missing.
    pub fn conditions(
        &self,
        environments: &Environments,
        inputs: &Inputs<'_>,
    ) -> Result<ConditionsVerdict, Pending> {
        let PolicyFrame { conditions, declared, environment, .. } = &self.frame;
        if conditions.is_empty() {
            return Ok(ConditionsVerdict::Hold);
        }
        let activation = inputs.activation(environments, environment, declared);
        conditions.evaluate_with(environments, &activation)
    }

    /// The change that the mutation at a place makes; a text when it cannot be evaluated.
    ///
    /// # Errors
    /// When answers of the authorizer are missing.
    ///
    /// # Panics
    /// When there are not so many mutations.
    pub fn change(
        &self,
        place: usize,
        environments: &Environments,
        inputs: &Inputs<'_>,
    ) -> Result<Result<Change, String>, Pending> {
        let Mutation { patch_type, expression } = &self.mutations[place];
        if let Err(text) = &expression.program {
            return Ok(Err(text.clone()));
        }
        let PolicyFrame { variables, declared, environment, .. } = &self.frame;
        let activation = inputs.activation(environments, environment, declared);
        let variables = LazyVariables::new(variables, &activation);
        let mut evaluation = Evaluation::new(environments, variables);
        Ok(match evaluation.value(expression) {
            Ok(value) => read(*patch_type, &value),
            Err(Failure::Error(text)) => Err(text),
            Err(Failure::OutOfBudget) => Err(OUT_OF_BUDGET.to_owned()),
            Err(Failure::Pending) => return Err(Pending),
        })
    }
}

/// The change that the value of an expression stands for.
fn read(patch_type: PatchType, value: &Read<'_>) -> Result<Change, String> {
    match patch_type {
        PatchType::ApplyConfiguration => match applied_object(value) {
            Ok(fields) => Ok(Change::Apply(fields)),
            Err(error) => Err(error.to_string()),
        },
        PatchType::JsonPatch => match patch_operations(value) {
            Ok(operations) => Ok(Change::Patch(operations)),
            Err(error) => Err(error.to_string()),
        },
    }
}

fn compile_mutations(compiler: &mut Compiler<'_>, list: &[Value]) -> Vec<Mutation> {
    let environments = compiler.by_age(Uses::OF_MUTATIONS);
    let mut mutations = Vec::with_capacity(list.len());
    for (index, mutation) in list.iter().enumerate() {
        let (patch_type, field, expected) = match mutation.str_at(&["patchType"]) {
            Some("ApplyConfiguration") => {
                (PatchType::ApplyConfiguration, "applyConfiguration", Expected::Object)
            }
            Some("JSONPatch") => (PatchType::JsonPatch, "jsonPatch", Expected::Patches),
            _ => continue,
        };
        let Some(source) = mutation.str_at(&[field, "expression"]) else { continue };
        let path = || {
            let mutations = Path::new("spec").child("mutations");
            mutations.index(index).child(field).child("expression")
        };
        let environment: &Environment = environments.of(compiler.age(source));
        let expression = compiler.expression(environment, source, expected, path);
        mutations.push(Mutation { patch_type, expression });
    }
    mutations
}
