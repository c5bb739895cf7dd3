//! Arithmetic, and the concatenation of text, bytes and lists.
//!
//! Invariants: integers never wrap: what does not fit is an error. Numbers of different types do not mix.

use crate::eval::EvalError;
use crate::library::kinds::{list, param};
use crate::overload::{ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::Value;

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

/// `+ - * / %` and negation.
pub(super) fn overloads() -> Vec<Overload> {
    use Type::{Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let binary = |function, id, left: Type, right: Type, result: Type, call| {
        Overload::global(function, id, [left, right], result, call).singleton()
    };
    let same =
        |function, id, of: Type, call| binary(function, id, of.clone(), of.clone(), of, call);
    let joined = |overload: Overload| {
        overload.costs(Cost::Static(cost_of_joining), Estimate::Of(estimate_of_joining))
    };
    let lists = || list(param("A"));
    vec![
        joined(same("_+_", "add_bytes", Bytes, add_arguments)),
        same("_+_", "add_double", Double, add_arguments),
        same("_+_", "add_duration_duration", Duration, add_arguments),
        binary("_+_", "add_duration_timestamp", Duration, Timestamp, Timestamp, add_arguments),
        binary("_+_", "add_timestamp_duration", Timestamp, Duration, Timestamp, add_arguments),
        same("_+_", "add_int64", Int, add_arguments),
        same("_+_", "add_list", lists(), add_arguments)
            .costs(Cost::Fixed(1), Estimate::Of(estimate_of_adding_lists)),
        joined(same("_+_", "add_string", String, add_arguments)),
        same("_+_", "add_uint64", Uint, add_arguments),
        same("_/_", "divide_double", Double, |arguments| binary_call(arguments, divide)),
        same("_/_", "divide_int64", Int, |arguments| binary_call(arguments, divide)),
        same("_/_", "divide_uint64", Uint, |arguments| binary_call(arguments, divide)),
        same("_%_", "modulo_int64", Int, |arguments| binary_call(arguments, modulo)),
        same("_%_", "modulo_uint64", Uint, |arguments| binary_call(arguments, modulo)),
        same("_*_", "multiply_double", Double, |arguments| binary_call(arguments, multiply)),
        same("_*_", "multiply_int64", Int, |arguments| binary_call(arguments, multiply)),
        same("_*_", "multiply_uint64", Uint, |arguments| binary_call(arguments, multiply)),
        Overload::global("-_", "negate_double", [Double], Double, negate_argument).singleton(),
        Overload::global("-_", "negate_int64", [Int], Int, negate_argument).singleton(),
        same("_-_", "subtract_double", Double, |arguments| binary_call(arguments, subtract)),
        same("_-_", "subtract_duration_duration", Duration, |arguments| {
            binary_call(arguments, subtract)
        }),
        same("_-_", "subtract_int64", Int, |arguments| binary_call(arguments, subtract)),
        binary("_-_", "subtract_timestamp_duration", Timestamp, Duration, Timestamp, |arguments| {
            binary_call(arguments, subtract)
        }),
        binary(
            "_-_",
            "subtract_timestamp_timestamp",
            Timestamp,
            Timestamp,
            Duration,
            |arguments| binary_call(arguments, subtract),
        ),
        same("_-_", "subtract_uint64", Uint, |arguments| binary_call(arguments, subtract)),
    ]
}

/// Run-time cost of joining text or bytes: a tenth of both sizes.
fn cost_of_joining(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.iter().map(Value::cost_size).sum::<u64>().div_ceil(10)
}

fn estimate_of_joining(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let size = total_size(arguments);
    CallEstimate { cost: size.scaled(0.1), size: Some(size) }
}

fn estimate_of_adding_lists(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate { cost: Range { min: 1, max: 1 }, size: Some(total_size(arguments)) }
}

fn total_size(arguments: &[ArgumentEstimate<'_>]) -> Range {
    arguments.iter().fold(Range { min: 0, max: 0 }, |sum, argument| Range {
        min: sum.min.saturating_add(argument.size.min),
        max: sum.max.saturating_add(argument.size.max),
    })
}

fn add_arguments<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [left, right] => add(left.clone(), right),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `left + right`; a list that nothing else holds grows in place.
pub(crate) fn add<'a>(left: Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(left.checked_add(*right).ok_or(EvalError::new(INT_OVERFLOW))?)
        }
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_add(*right).ok_or(EvalError::new(UINT_OVERFLOW))?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left + right),
        (Value::String(left), Value::String(right)) => Value::string([&*left, &**right].concat()),
        (Value::Bytes(left), Value::Bytes(right)) => Value::bytes([&*left, &**right].concat()),
        (Value::List(left), Value::List(right)) => Value::List(left.concatenated(right)),
        (Value::Duration(left), Value::Duration(right)) => {
            Value::Duration(left.checked_add(*right).map_err(EvalError::new)?)
        }
        (Value::Duration(left), Value::Timestamp(right)) => {
            Value::Timestamp(right.checked_add(left).map_err(EvalError::new)?)
        }
        (Value::Timestamp(left), Value::Duration(right)) => {
            Value::Timestamp(left.checked_add(*right).map_err(EvalError::new)?)
        }
        (left, _) => return Err(no_operand(&left, "_+_")),
    })
}

/// `left - right`.
pub(crate) fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(left.checked_sub(*right).ok_or(EvalError::new(INT_OVERFLOW))?)
        }
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_sub(*right).ok_or(EvalError::new(UINT_OVERFLOW))?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left - right),
        (Value::Duration(left), Value::Duration(right)) => {
            Value::Duration(left.checked_sub(*right).map_err(EvalError::new)?)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            Value::Duration(left.since(*right).map_err(EvalError::new)?)
        }
        (Value::Timestamp(left), Value::Duration(right)) => {
            Value::Timestamp(left.checked_sub(*right).map_err(EvalError::new)?)
        }
        (left, _) => return Err(no_operand(left, "_-_")),
    })
}

/// `left * right`.
pub(crate) fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(left.checked_mul(*right).ok_or(EvalError::new(INT_OVERFLOW))?)
        }
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_mul(*right).ok_or(EvalError::new(UINT_OVERFLOW))?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left * right),
        (left, _) => return Err(no_operand(left, "_*_")),
    })
}

/// `left / right`.
pub(crate) fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            return Err(EvalError::new("division by zero"));
        }
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(left.checked_div(*right).ok_or(EvalError::new(INT_OVERFLOW))?)
        }
        (Value::Uint(left), Value::Uint(right)) => Value::Uint(left / right),
        (Value::Double(left), Value::Double(right)) => Value::Double(left / right),
        (left, _) => return Err(no_operand(left, "_/_")),
    })
}

/// `left % right`.
pub(crate) fn modulo<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            return Err(EvalError::new("modulus by zero"));
        }
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(left.checked_rem(*right).ok_or(EvalError::new(INT_OVERFLOW))?)
        }
        (Value::Uint(left), Value::Uint(right)) => Value::Uint(left % right),
        (left, _) => return Err(no_operand(left, "_%_")),
    })
}

fn binary_call<'a>(
    arguments: &[Value<'a>],
    operator: fn(&Value<'a>, &Value<'a>) -> Result<Value<'a>, EvalError>,
) -> Result<Value<'a>, EvalError> {
    match arguments {
        [left, right] => operator(left, right),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn negate_argument<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [value] => negate(value),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `-value`.
fn negate<'a>(value: &Value<'a>) -> Result<Value<'a>, EvalError> {
    Ok(match value {
        Value::Int(value) => Value::Int(value.checked_neg().ok_or(EvalError::new(INT_OVERFLOW))?),
        Value::Double(value) => Value::Double(-value),
        Value::Duration(value) => {
            let nanos = value.nanos().checked_neg().ok_or(EvalError::new(INT_OVERFLOW))?;
            Value::Duration(crate::library::time::Duration::from_nanos(nanos))
        }
        Value::Bool(_) => return Err(EvalError::no_such_overload()),
        value => return Err(EvalError::no_operator(value, "-_")),
    })
}

/// The error of an operator whose left operand has a type that knows it, or not.
fn no_operand(left: &Value<'_>, function: &str) -> EvalError {
    use Value::{Bytes, Double, Int, List, Uint};
    let known = match function {
        "_+_" => matches!(left, Int(_) | Uint(_) | Double(_) | Bytes(_) | List(_)),
        "_%_" => matches!(left, Int(_) | Uint(_)),
        _ => matches!(left, Int(_) | Uint(_) | Double(_)),
    };
    if known { EvalError::no_such_overload() } else { EvalError::no_operator(left, function) }
}
