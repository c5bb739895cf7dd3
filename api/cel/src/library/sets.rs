//! Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`.

use super::kinds::{list, param};
use super::standard::contains;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::{List, Value};

/// The release in which sets appeared.
const SINCE: Release = Release(29);

/// Every overload of sets.
pub(super) fn overloads() -> Vec<Overload> {
    let of = |function, id, call: Call| {
        Overload::global(function, id, [list(param("T")), list(param("T"))], Type::Bool, call)
    };
    let all = vec![
        of("sets.contains", "list_sets_contains_list", contains_all)
            .costs(Cost::Static(cost_of_pairs), Estimate::Of(estimate_of_pairs)),
        of("sets.equivalent", "list_sets_equivalent_list", equivalent)
            .costs(Cost::Static(cost_of_pairs_twice), Estimate::Of(estimate_of_pairs_twice)),
        of("sets.intersects", "list_sets_intersects_list", intersects)
            .costs(Cost::Static(cost_of_pairs), Estimate::Of(estimate_of_pairs)),
    ];
    all.into_iter().map(|overload| overload.since(SINCE)).collect()
}

fn pairs(arguments: &[Value<'_>]) -> u64 {
    arguments.iter().map(Value::cost_size).fold(1, u64::saturating_mul)
}

fn cost_of_pairs(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    pairs(arguments).saturating_add(1)
}

fn cost_of_pairs_twice(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    pairs(arguments).saturating_mul(2).saturating_add(1)
}

fn estimated_pairs(arguments: &[ArgumentEstimate<'_>], factor: u64) -> CallEstimate {
    let end = |of: fn(&Range) -> u64| {
        let pairs =
            arguments.iter().map(|argument| of(&argument.size)).fold(factor, u64::saturating_mul);
        pairs.saturating_add(1)
    };
    CallEstimate {
        cost: Range { min: end(|size| size.min), max: end(|size| size.max) },
        size: None,
    }
}

fn estimate_of_pairs(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimated_pairs(arguments, 1)
}

fn estimate_of_pairs_twice(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimated_pairs(arguments, 2)
}

fn lists<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<(&'v List<'a>, &'v List<'a>), EvalError> {
    match arguments {
        [Value::List(left), Value::List(right)] => Ok((left, right)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Whether every element of `part` is in `whole`; comparisons that fail are no match.
fn covers(whole: &List<'_>, part: &List<'_>) -> bool {
    let whole = Value::List(whole.clone());
    part.iter().all(|item| contains(&item, &whole).unwrap_or(false))
}

fn contains_all<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (whole, part) = lists(arguments)?;
    Ok(Value::Bool(covers(whole, part)))
}

fn equivalent<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (left, right) = lists(arguments)?;
    Ok(Value::Bool(covers(left, right) && covers(right, left)))
}

fn intersects<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (left, right) = lists(arguments)?;
    let left = Value::List(left.clone());
    Ok(Value::Bool(right.iter().any(|item| contains(&item, &left).unwrap_or(false))))
}
