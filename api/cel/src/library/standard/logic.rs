//! Logic and equality. The evaluator has nodes of its own for all of these but `!`.

use super::relation::{cost_of_comparing, estimate_of_comparing};
use crate::eval::EvalError;
use crate::library::kinds::param;
use crate::overload::{Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::Value;

/// `!`, `&&`, `||`, `?:`, `==`, `!=` and the macros' test that a result is not false.
pub(super) fn overloads() -> Vec<Overload> {
    let a = || param("A");
    let (cost, estimate) = (Cost::Always(cost_of_comparing), Estimate::Of(estimate_of_comparing));
    vec![
        Overload::global("_?_:_", "conditional", [Type::Bool, a(), a()], a(), in_evaluator).singleton(),
        Overload::global("_&&_", "logical_and", [Type::Bool, Type::Bool], Type::Bool, in_evaluator).singleton(),
        Overload::global("_||_", "logical_or", [Type::Bool, Type::Bool], Type::Bool, in_evaluator).singleton(),
        Overload::global("!_", "logical_not", [Type::Bool], Type::Bool, not).singleton(),
        Overload::global("@not_strictly_false", "not_strictly_false", [Type::Bool], Type::Bool, in_evaluator)
            .singleton(),
        Overload::global("_==_", "equals", [a(), a()], Type::Bool, equal).singleton().costs(cost, estimate),
        Overload::global("_!=_", "not_equals", [a(), a()], Type::Bool, unequal).singleton().costs(cost, estimate),
    ]
}

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
