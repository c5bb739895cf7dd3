//! `<`, `<=`, `>` and `>=`.

use std::cmp::Ordering;

use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::Value;

/// The release from which on numbers of different types are compared.
const SINCE_MIXED: Release = Release(29);

/// Types of the operands of each overload of a relation.
const OPERANDS: [[Type; 2]; 14] = [
    [Type::Bool, Type::Bool],
    [Type::Int, Type::Int],
    [Type::Int, Type::Double],
    [Type::Int, Type::Uint],
    [Type::Uint, Type::Uint],
    [Type::Uint, Type::Double],
    [Type::Uint, Type::Int],
    [Type::Double, Type::Double],
    [Type::Double, Type::Int],
    [Type::Double, Type::Uint],
    [Type::String, Type::String],
    [Type::Bytes, Type::Bytes],
    [Type::Timestamp, Type::Timestamp],
    [Type::Duration, Type::Duration],
];

const LESS: [&str; 14] = [
    "less_bool",
    "less_int64",
    "less_int64_double",
    "less_int64_uint64",
    "less_uint64",
    "less_uint64_double",
    "less_uint64_int64",
    "less_double",
    "less_double_int64",
    "less_double_uint64",
    "less_string",
    "less_bytes",
    "less_timestamp",
    "less_duration",
];

const LESS_EQUALS: [&str; 14] = [
    "less_equals_bool",
    "less_equals_int64",
    "less_equals_int64_double",
    "less_equals_int64_uint64",
    "less_equals_uint64",
    "less_equals_uint64_double",
    "less_equals_uint64_int64",
    "less_equals_double",
    "less_equals_double_int64",
    "less_equals_double_uint64",
    "less_equals_string",
    "less_equals_bytes",
    "less_equals_timestamp",
    "less_equals_duration",
];

const GREATER: [&str; 14] = [
    "greater_bool",
    "greater_int64",
    "greater_int64_double",
    "greater_int64_uint64",
    "greater_uint64",
    "greater_uint64_double",
    "greater_uint64_int64",
    "greater_double",
    "greater_double_int64",
    "greater_double_uint64",
    "greater_string",
    "greater_bytes",
    "greater_timestamp",
    "greater_duration",
];

const GREATER_EQUALS: [&str; 14] = [
    "greater_equals_bool",
    "greater_equals_int64",
    "greater_equals_int64_double",
    "greater_equals_int64_uint64",
    "greater_equals_uint64",
    "greater_equals_uint64_double",
    "greater_equals_uint64_int64",
    "greater_equals_double",
    "greater_equals_double_int64",
    "greater_equals_double_uint64",
    "greater_equals_string",
    "greater_equals_bytes",
    "greater_equals_timestamp",
    "greater_equals_duration",
];

/// The four relations, of values of one type and of numbers of any.
pub(super) fn overloads() -> Vec<Overload> {
    let relations: [(&str, [&str; 14], Call); 4] = [
        ("_<_", LESS, |arguments| relate(arguments, "_<_", Ordering::is_lt)),
        ("_<=_", LESS_EQUALS, |arguments| relate(arguments, "_<=_", Ordering::is_le)),
        ("_>_", GREATER, |arguments| relate(arguments, "_>_", Ordering::is_gt)),
        ("_>=_", GREATER_EQUALS, |arguments| relate(arguments, "_>=_", Ordering::is_ge)),
    ];
    let mut overloads = Vec::new();
    for (function, ids, call) in relations {
        for (id, operands) in ids.into_iter().zip(OPERANDS) {
            let since = if operands[0] == operands[1] { Release::FIRST } else { SINCE_MIXED };
            let sized = matches!(operands[0], Type::String | Type::Bytes);
            let overload =
                Overload::global(function, id, operands, Type::Bool, call).singleton().since(since);
            let (cost, estimate) =
                (Cost::Static(cost_of_comparing), Estimate::Of(estimate_of_comparing));
            overloads.push(if sized { overload.costs(cost, estimate) } else { overload });
        }
    }
    overloads
}

fn relate<'a>(
    arguments: &[Value<'a>],
    function: &str,
    holds: fn(Ordering) -> bool,
) -> Result<Value<'a>, EvalError> {
    match arguments {
        [left, _] if !left.is_ordered() => {
            Err(EvalError::new(format!("no such overload: {function}")))
        }
        [left, right] => left.order(right).map(holds).map(Value::Bool),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Run-time cost of comparing: a tenth of the smaller size.
pub(super) fn cost_of_comparing(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.iter().map(Value::cost_size).min().unwrap_or(1).div_ceil(10)
}

/// A tenth of the smaller size at most, and of nothing when that is empty.
pub(super) fn estimate_of_comparing(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let max = arguments.iter().map(|argument| argument.size.max).min().unwrap_or(0);
    CallEstimate { cost: Range { min: max.min(1), max }.scaled(0.1), size: None }
}
