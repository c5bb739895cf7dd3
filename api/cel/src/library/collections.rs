//! Helpers for lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`.
//!
//! Their costs belong to the names of the functions: they count however a call is dispatched.

use std::cmp::Ordering;

use super::cost::estimated_traversal;
use super::kinds::{list, ordered, param};
use super::standard::add;
use crate::eval::EvalError;
use crate::library::time::Duration;
use crate::overload::{Call, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{List, Value};

/// Code points or bytes of text that cost as much as one scalar.
const BYTES_PER_UNIT: u64 = 10;

const IS_SORTED: [&str; 8] = [
    "list_int_is_sorted_bool",
    "list_uint_is_sorted_bool",
    "list_double_is_sorted_bool",
    "list_bool_is_sorted_bool",
    "list_duration_is_sorted_bool",
    "list_timestamp_is_sorted_bool",
    "list_string_is_sorted_bool",
    "list_bytes_is_sorted_bool",
];
const MAX: [&str; 8] = [
    "list_int_max_int",
    "list_uint_max_uint",
    "list_double_max_double",
    "list_bool_max_bool",
    "list_duration_max_duration",
    "list_timestamp_max_timestamp",
    "list_string_max_string",
    "list_bytes_max_bytes",
];
const MIN: [&str; 8] = [
    "list_int_min_int",
    "list_uint_min_uint",
    "list_double_min_double",
    "list_bool_min_bool",
    "list_duration_min_duration",
    "list_timestamp_min_timestamp",
    "list_string_min_string",
    "list_bytes_min_bytes",
];

/// Every overload of the list helpers.
pub(super) fn overloads() -> Vec<Overload> {
    let mut overloads = Vec::new();
    let of = |function, id, element: Type, result: Type, call: Call| {
        Overload::member(function, id, [list(element)], result, call)
            .costs(Cost::Always(traversal), Estimate::Of(estimated_traversal))
    };
    for (element, id) in ordered().into_iter().zip(IS_SORTED) {
        overloads.push(of("isSorted", id, element, Type::Bool, is_sorted));
    }
    for (element, id, call) in sums() {
        overloads.push(of("sum", id, element.clone(), element, call));
    }
    for (element, id) in ordered().into_iter().zip(MAX) {
        overloads.push(of("max", id, element.clone(), element, max));
    }
    for (element, id) in ordered().into_iter().zip(MIN) {
        overloads.push(of("min", id, element.clone(), element, min));
    }
    for (function, id, call) in [
        ("indexOf", "list_a_index_of_int", index_of as Call),
        ("lastIndexOf", "list_a_last_index_of_int", last_index_of as Call),
    ] {
        let parameters = [list(param("A")), param("A")];
        overloads.push(
            Overload::member(function, id, parameters, Type::Int, call)
                .costs(Cost::Always(traversal), Estimate::Of(estimated_traversal)),
        );
    }
    overloads
}

fn sums() -> [(Type, &'static str, Call); 4] {
    [
        (Type::Int, "list_int_sum_int", |arguments| sum(arguments, Value::Int(0))),
        (Type::Uint, "list_uint_sum_uint", |arguments| sum(arguments, Value::Uint(0))),
        (Type::Double, "list_double_sum_double", |arguments| sum(arguments, Value::Double(0.0))),
        (Type::Duration, "list_duration_sum_duration", |arguments| {
            sum(arguments, Value::Duration(Duration::from_nanos(0)))
        }),
    ]
}

/// Run-time cost: one for each scalar in the receiver, a tenth of the bytes of text.
pub(crate) fn traversal(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    let mut steps = LEAVES_MAX;
    arguments.first().map_or(1, |receiver| leaves(receiver, &mut steps))
}

/// So many values are counted at most: lists that hold one list many times may have any number, and what costs so much ends
/// every evaluation.
const LEAVES_MAX: u64 = 10_000_000;

fn leaves(value: &Value<'_>, steps: &mut u64) -> u64 {
    *steps = steps.saturating_sub(1);
    if *steps == 0 {
        return LEAVES_MAX;
    }
    match value {
        Value::String(text) => text.len() as u64 / BYTES_PER_UNIT,
        Value::Bytes(bytes) => bytes.len() as u64 / BYTES_PER_UNIT,
        Value::List(list) => {
            let counted = list.iter().map(|item| leaves(&item, steps));
            counted.fold(0, u64::saturating_add)
        }
        Value::Map(map) => map.iter().fold(0, |sum: u64, (key, value)| {
            sum.saturating_add(leaves(&key, steps)).saturating_add(leaves(&value, steps))
        }),
        _ => 1,
    }
}

fn receiver<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<&'v List<'a>, EvalError> {
    match arguments.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn is_sorted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let mut before: Option<Value<'a>> = None;
    for item in receiver(arguments)?.iter() {
        if !item.is_ordered() {
            return Err(EvalError::no_such_overload());
        }
        // Elements that do not compare are in order.
        if before.is_some_and(|before| before.order(&item) == Ok(Ordering::Greater)) {
            return Ok(Value::Bool(false));
        }
        before = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(arguments: &[Value<'a>], zero: Value<'a>) -> Result<Value<'a>, EvalError> {
    receiver(arguments)?.iter().try_fold(zero, |sum, item| add(sum, &item))
}

fn max<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    extreme(receiver(arguments)?, Ordering::Less)
        .ok_or(EvalError::new("max called on empty list"))?
}

fn min<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    extreme(receiver(arguments)?, Ordering::Greater)
        .ok_or(EvalError::new("min called on empty list"))?
}

/// The element that replaced every one that stood in order `replaced` towards it.
fn extreme<'a>(list: &List<'a>, replaced: Ordering) -> Option<Result<Value<'a>, EvalError>> {
    let mut best: Option<Value<'a>> = None;
    for item in list.iter() {
        if !item.is_ordered() {
            return Some(Err(EvalError::no_such_overload()));
        }
        best = match best {
            Some(best) if best.order(&item) != Ok(replaced) => Some(best),
            _ => Some(item),
        };
    }
    best.map(Ok)
}

fn index_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (list, item) =
        (receiver(arguments)?, arguments.get(1).ok_or(EvalError::no_such_overload())?);
    Ok(index_value(list.iter().position(|other| other.equals(item) == Ok(true))))
}

fn last_index_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (list, item) =
        (receiver(arguments)?, arguments.get(1).ok_or(EvalError::no_such_overload())?);
    let found = (0..list.len())
        .rev()
        .find(|at| list.get(*at).is_some_and(|other| other.equals(item) == Ok(true)));
    Ok(index_value(found))
}

fn index_value<'a>(index: Option<usize>) -> Value<'a> {
    Value::Int(index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1))
}
