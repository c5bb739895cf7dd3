//! Expressions: compiled for the place in which they stand.

use quorate_cel::environment::Environment;
use quorate_cel::library::mutation;
use quorate_cel::naming::in_profile;
use quorate_cel::program::{CompileError, Program};
use quorate_cel::types::Type;
use quorate_meta::{Naming, Path};

/// What is wrong with an expression of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The field that it stands in.
    pub path: Path,
    /// The expression.
    pub source: String,
    /// What is wrong, of one line or several.
    pub text: String,
}

/// What an expression has to evaluate to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    Bool,
    Text,
    TextOrNull,
    /// Fields to apply.
    Object,
    /// The operations of a JSON patch.
    Patches,
}

/// Compiles an expression; the error is what a client reads.
pub(crate) fn compile(
    environment: &Environment,
    source: &str,
    expected: Expected,
    naming: Naming,
) -> Result<Program, String> {
    let in_profile = |text: &str| in_profile(naming, text).into_owned();
    let program = Program::compile(environment, source).map_err(|error| match error {
        CompileError::Source(issues) => {
            format!("compilation failed: {}", in_profile(&issues.to_string()))
        }
        CompileError::Plan(error) => {
            format!("program instantiation failed: {}", in_profile(&error.to_string()))
        }
    })?;
    let (fits, wanted) = match (expected, program.result_type()) {
        (Expected::Anything, _) => (true, ""),
        (Expected::Bool, found) => (*found == Type::Bool, "must evaluate to bool"),
        (Expected::Text, found) => (*found == Type::String, "must evaluate to string"),
        (Expected::TextOrNull, found) => (
            matches!(found, Type::String | Type::Null),
            "must evaluate to one of [string null_type]",
        ),
        (Expected::Object, found) => (is_named(found, mutation::OBJECT), "must evaluate to Object"),
        (Expected::Patches, found) => (
            matches!(found, Type::List(item) if is_named(item, mutation::JSON_PATCH)),
            "must evaluate to list(JSONPatch)",
        ),
    };
    if fits {
        Ok(program)
    } else {
        Err(format!("{wanted} but got {}", in_profile(&program.result_type().to_string())))
    }
}

fn is_named(found: &Type, name: &str) -> bool {
    matches!(found, Type::Object(own) if **own == *name)
}

/// The text when the budget of several expressions is spent.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The text of an expression that has no value.
pub(crate) fn failed(source: &str, error: &str) -> String {
    format!("expression '{source}' resulted in error: {error}")
}
