//! Logic and equality. The evaluator has nodes of its own for all of these but `!`.

use super::relation::{cost_of_comparing, estimate_of_comparing};
use crate::eval::EvalError;
use crate::library::kinds::param;
use crate::library::names;
use crate::overload::{ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::Value;

/// `!`, `&&`, `||`, `?:`, `==`, `!=` and the macros' test that a result is not false.
pub(super) fn overloads() -> Vec<Overload> {
    let a = || param("A");
    let (cost, estimate) = (Cost::Always(cost_of_comparing), Estimate::Of(estimate_of_equality));
    vec![
        Overload::global("_?_:_", "conditional", [Type::Bool, a(), a()], a(), in_evaluator)
            .singleton(),
        Overload::global("_&&_", "logical_and", [Type::Bool, Type::Bool], Type::Bool, in_evaluator)
            .singleton(),
        Overload::global("_||_", "logical_or", [Type::Bool, Type::Bool], Type::Bool, in_evaluator)
            .singleton(),
        Overload::global("!_", "logical_not", [Type::Bool], Type::Bool, not).singleton(),
        Overload::global(
            "@not_strictly_false",
            "not_strictly_false",
            [Type::Bool],
            Type::Bool,
            in_evaluator,
        )
        .singleton(),
        Overload::global("_==_", "equals", [a(), a()], Type::Bool, equal)
            .singleton()
            .costs(cost, estimate),
        Overload::global("_!=_", "not_equals", [a(), a()], Type::Bool, unequal)
            .singleton()
            .costs(cost, Estimate::Of(estimate_of_comparing)),
    ]
}

/// As of order; the libraries' own types say their own.
fn estimate_of_equality(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let name = match arguments.first().map(|argument| argument.value_type) {
        Some(Type::Opaque(name) | Type::Object(name)) => &**name,
        _ => return estimate_of_comparing(arguments),
    };
    let max = match name {
        names::NAMED_FORMAT => NAMED_FORMAT_EQUALITY_MAX,
        _ if OWN_TYPES.contains(&name) => 1,
        _ => return estimate_of_comparing(arguments),
    };
    CallEstimate { cost: Range { min: 1, max }, size: None }
}

/// Types of the libraries whose values cost 1 to compare.
const OWN_TYPES: [&str; 9] = [
    names::IP,
    names::CIDR,
    names::QUANTITY,
    names::SEMVER,
    names::AUTHORIZER,
    names::PATH_CHECK,
    names::GROUP_CHECK,
    names::RESOURCE_CHECK,
    names::DECISION,
];

/// What comparing two named formats costs at most.
const NAMED_FORMAT_EQUALITY_MAX: u64 = 7;

/// What the evaluator does without a call, since not all operands are evaluated or their errors count.
fn in_evaluator<'a>(_arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Err(EvalError::no_such_overload())
}

fn not<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn equal<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [left, right] => left.equals(right).map(Value::Bool),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn unequal<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        // A comparison that fails counts as unequal.
        [left, right] => Ok(Value::Bool(!left.equals(right).unwrap_or(false))),
        _ => Err(EvalError::no_such_overload()),
    }
}
