//! Lists: `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `reverse`, `lists.range`.
//!
//! A function that makes a list costs 11 besides its work: 10 for the list and 1 for the call.

use std::cmp::Ordering;

use super::cost::estimated_size;
use super::kinds::{list, ordered, param};
use crate::ast::Literal;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::{ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::{List, Value};

/// Cost of comparing two elements, as estimates count it.
const PAIR_FACTOR: f64 = 2.0;
/// The same for text and bytes.
const TEXT_PAIR_FACTOR: f64 = 2.1;
/// Cost of a list and of the call that makes it.
const LIST_AND_CALL: u64 = 11;

const SORT: [&str; 8] = [
    "list_int_sort",
    "list_uint_sort",
    "list_double_sort",
    "list_bool_sort",
    "list_duration_sort",
    "list_timestamp_sort",
    "list_string_sort",
    "list_bytes_sort",
];
const SORT_BY: [&str; 8] = [
    "list_int_sortByAssociatedKeys",
    "list_uint_sortByAssociatedKeys",
    "list_double_sortByAssociatedKeys",
    "list_bool_sortByAssociatedKeys",
    "list_duration_sortByAssociatedKeys",
    "list_timestamp_sortByAssociatedKeys",
    "list_string_sortByAssociatedKeys",
    "list_bytes_sortByAssociatedKeys",
];

/// The release in which this library appeared.
const SINCE: Release = Release(34);

/// Every overload of lists.
pub(super) fn overloads() -> Vec<Overload> {
    let t = || param("T");
    let estimate = Estimate::Of;
    let mut overloads = vec![
        Overload::member(
            "slice",
            "list_slice",
            [list(t()), Type::Int, Type::Int],
            list(t()),
            slice,
        )
        .costs(Cost::Static(cost_of_result), estimate(estimate_of_slice)),
        Overload::member("flatten", "list_flatten", [list(list(t()))], list(t()), flatten)
            .singleton()
            .costs(Cost::Static(cost_of_flattening), estimate(estimate_of_flattening)),
        Overload::member(
            "flatten",
            "list_flatten_int",
            [list(Type::Dyn), Type::Int],
            list(Type::Dyn),
            flatten,
        )
        .singleton()
        .costs(Cost::Static(cost_of_flattening), estimate(estimate_of_flattening)),
        Overload::global("lists.range", "lists_range", [Type::Int], list(Type::Int), range)
            .costs(Cost::Static(cost_of_result), estimate(estimate_of_range)),
        Overload::member("distinct", "list_distinct", [list(t())], list(t()), distinct)
            .singleton()
            .costs(Cost::Static(cost_of_ordering), estimate(estimate_of_distinct)),
        Overload::member("reverse", "list_reverse", [list(t())], list(t()), reverse)
            .costs(Cost::Static(cost_of_result), estimate(estimate_of_reverse)),
    ];
    for (element, id) in ordered().into_iter().zip(SORT) {
        let estimated =
            if is_text(&element) { estimate_of_sorting_text } else { estimate_of_distinct };
        let sorted = list(element);
        overloads.push(
            Overload::member("sort", id, [sorted.clone()], sorted, sort)
                .singleton()
                .costs(Cost::Static(cost_of_ordering), estimate(estimated)),
        );
    }
    for (element, id) in ordered().into_iter().zip(SORT_BY) {
        let estimated = if is_text(&element) {
            estimate_of_sorting_by_text
        } else {
            estimate_of_sorting_by_keys
        };
        let parameters = [list(t()), list(element)];
        overloads.push(
            Overload::member("@sortByAssociatedKeys", id, parameters, list(t()), sort_by_keys)
                .singleton()
                .costs(Cost::Static(cost_of_ordering_by_keys), estimate(estimated)),
        );
    }
    overloads.into_iter().map(|overload| overload.since(SINCE)).collect()
}

const fn is_text(element: &Type) -> bool {
    matches!(element, Type::String | Type::Bytes)
}

/// `size` elements made or compared, and a list of `size`.
fn made(cost: Range, size: Range) -> CallEstimate {
    let cost = Range {
        min: cost.min.saturating_add(LIST_AND_CALL),
        max: cost.max.saturating_add(LIST_AND_CALL),
    };
    CallEstimate { cost, size: Some(size) }
}

fn literal_int(arguments: &[ArgumentEstimate<'_>], at: usize) -> Option<i64> {
    match arguments.get(at)?.literal {
        Some(Literal::Int(value)) => Some(*value),
        _ => None,
    }
}

/// From one constant index to the other; from the beginning, and to the end, where they are not constant.
fn estimate_of_slice(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let index = |at| literal_int(arguments, at).map(|value| u64::try_from(value).unwrap_or(0));
    let start = index(1).unwrap_or(0);
    let end = index(2).unwrap_or(estimated_size(arguments, 0).max);
    let size = end.saturating_sub(start);
    let size = Range { min: size, max: size };
    made(size, size)
}

fn estimate_of_flattening(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let depth = match arguments.len() {
        1 => 1,
        _ => literal_int(arguments, 1).map_or(u64::MAX, |depth| u64::try_from(depth).unwrap_or(0)),
    };
    let size = estimated_size(arguments, 0);
    let cost = Range { min: size.min.saturating_mul(depth), max: size.max.saturating_mul(depth) };
    made(cost, size)
}

fn estimate_of_range(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let size = literal_int(arguments, 0).map_or(u64::MAX, |end| u64::try_from(end).unwrap_or(0));
    let size = Range { min: size, max: size };
    made(size, size)
}

fn estimate_of_reverse(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let size = estimated_size(arguments, 0);
    made(size, size)
}

fn estimate_of_distinct(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_ordering(estimated_size(arguments, 0), PAIR_FACTOR)
}

fn estimate_of_sorting_text(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_ordering(estimated_size(arguments, 0), TEXT_PAIR_FACTOR)
}

fn estimate_of_sorting_by_keys(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_ordering(estimated_size(arguments, 1), PAIR_FACTOR)
}

fn estimate_of_sorting_by_text(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_ordering(estimated_size(arguments, 1), TEXT_PAIR_FACTOR)
}

/// Every element beside every other. The reference engine takes the number of pairs for the size of the result.
fn estimate_of_ordering(size: Range, factor: f64) -> CallEstimate {
    let pairs =
        Range { min: size.min.saturating_mul(size.min), max: size.max.saturating_mul(size.max) };
    made(pairs.scaled(factor), pairs)
}

/// The size of the result.
fn cost_of_result(_arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    result.map_or(1, Value::cost_size).saturating_add(LIST_AND_CALL)
}

/// The size of the receiver for each level.
fn cost_of_flattening(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    let depth = match arguments.get(1) {
        // The reference engine counts a negative depth so, and wraps.
        Some(Value::Int(depth)) => depth.cast_unsigned(),
        _ => 1,
    };
    let size = arguments.first().map_or(1, Value::cost_size);
    size.wrapping_mul(depth).wrapping_add(LIST_AND_CALL)
}

fn cost_of_ordering(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.first().map_or(LIST_AND_CALL, ordering)
}

fn cost_of_ordering_by_keys(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.get(1).map_or(LIST_AND_CALL, ordering)
}

/// Twice the square of the size; 2.1 times for text and bytes.
fn ordering(values: &Value<'_>) -> u64 {
    let size = values.cost_size();
    let text = match values {
        Value::List(list) => matches!(list.get(0), Some(Value::String(_) | Value::Bytes(_))),
        _ => false,
    };
    let square = size.saturating_mul(size);
    let work = if text { square.saturating_mul(21) / 10 } else { square.saturating_mul(2) };
    work.saturating_add(LIST_AND_CALL)
}

fn receiver<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<&'v List<'a>, EvalError> {
    match arguments.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn slice<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let list = receiver(arguments)?;
    let [_, Value::Int(start), Value::Int(end)] = arguments else {
        return Err(EvalError::no_such_overload());
    };
    let fail = |why: &str| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return fail("negative indexes not supported");
    };
    if from > to {
        return fail("start index must be less than or equal to end index");
    }
    if to > list.len() {
        return fail(&format!("list is length {}", list.len()));
    }
    Ok(Value::list((from..to).filter_map(|at| list.get(at)).collect()))
}

fn flatten<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let depth = match arguments {
        [Value::List(_)] => 1,
        [Value::List(_), Value::Int(depth)] => *depth,
        [other, ..] => {
            return Err(EvalError::new(format!(
                "no such overload: {}.flatten()",
                other.type_name()
            )));
        }
        [] => return Err(EvalError::no_such_overload()),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(receiver(arguments)?, depth, &mut flat)?;
    Ok(Value::list(flat))
}

/// Recursion ends with the depth of the values, which that of expressions and data bounds.
fn flatten_into<'a>(
    list: &List<'a>,
    depth: i64,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), EvalError> {
    for item in list.iter() {
        match item {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat)?,
            _ if flat.len() >= FLAT_ELEMENTS_MAX => return Err(EvalError::CostLimit),
            item => flat.push(item),
        }
    }
    Ok(())
}

/// A list is flattened to at most so many elements: lists that hold one list many times may have any number.
const FLAT_ELEMENTS_MAX: usize = 1_000_000;

fn range<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Int(end)] => Ok(Value::List(List::numbers(*end))),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn distinct<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    if !matches!(arguments, [Value::List(_)]) {
        return Err(EvalError::Internal("no list"));
    }
    let mut kept: Vec<Value<'a>> = Vec::new();
    for item in receiver(arguments)?.iter() {
        if !kept.iter().any(|known| item.equals(known) == Ok(true)) {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn reverse<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let mut items: Vec<Value<'a>> = receiver(arguments)?.iter().collect();
    items.reverse();
    Ok(Value::list(items))
}

fn sort<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let list = match arguments {
        [Value::List(list)] => list,
        _ => return Err(EvalError::new("no such overload: sort")),
    };
    sorted_by(list, list)
}

fn sort_by_keys<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::List(list), Value::List(keys)] => sorted_by(list, keys),
        _ => Err(EvalError::new("no such overload: @sortByAssociatedKeys")),
    }
}

/// The elements of `list` in the order of `keys`, which has as many.
fn sorted_by<'a>(list: &List<'a>, keys: &List<'a>) -> Result<Value<'a>, EvalError> {
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let keys: Vec<Value<'a>> = keys.iter().collect();
    let Some(first) = keys.first() else {
        return Ok(Value::List(list.clone()));
    };
    if !first.is_ordered() {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    let order = merge_sorted(0, keys.len(), &keys);
    Ok(Value::list(order.into_iter().filter_map(|at| list.get(at)).collect()))
}

/// Places of `keys[start..end]` in order, equal ones as they stood. A number that is none has no order; any place does.
fn merge_sorted(start: usize, end: usize, keys: &[Value<'_>]) -> Vec<usize> {
    if end - start <= 1 {
        return (start..end).collect();
    }
    let middle = start + (end - start) / 2;
    let mut left = merge_sorted(start, middle, keys).into_iter().peekable();
    let mut right = merge_sorted(middle, end, keys).into_iter().peekable();
    let mut merged = Vec::with_capacity(end - start);
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let swapped = keys[*second].order(&keys[*first]) == Ok(Ordering::Less);
        merged.extend(if swapped { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}
