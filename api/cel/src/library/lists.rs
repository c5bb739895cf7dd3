//! Lists: `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `reverse`, `lists.range`.
//!
//! A function that makes a list costs 11 besides its work: 10 for the list and 1 for the call.

use std::cmp::Ordering;

use super::kinds::{list, ordered, param};
use crate::eval::EvalError;
use crate::overload::{Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{List, Value};

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

/// Every overload of lists.
pub(super) fn overloads() -> Vec<Overload> {
    let t = || param("T");
    let estimate = Estimate::Fixed(1);
    let mut overloads = vec![
        Overload::member("slice", "list_slice", [list(t()), Type::Int, Type::Int], list(t()), slice)
            .costs(Cost::Static(cost_of_result), estimate),
        Overload::member("flatten", "list_flatten", [list(list(t()))], list(t()), flatten)
            .singleton()
            .costs(Cost::Static(cost_of_flattening), estimate),
        Overload::member("flatten", "list_flatten_int", [list(Type::Dyn), Type::Int], list(Type::Dyn), flatten)
            .singleton()
            .costs(Cost::Static(cost_of_flattening), estimate),
        Overload::global("lists.range", "lists_range", [Type::Int], list(Type::Int), range)
            .costs(Cost::Static(cost_of_result), estimate),
        Overload::member("distinct", "list_distinct", [list(t())], list(t()), distinct)
            .singleton()
            .costs(Cost::Static(cost_of_ordering), estimate),
        Overload::member("reverse", "list_reverse", [list(t())], list(t()), reverse)
            .costs(Cost::Static(cost_of_result), estimate),
    ];
    for (element, id) in ordered().into_iter().zip(SORT) {
        let sorted = list(element);
        overloads.push(
            Overload::member("sort", id, [sorted.clone()], sorted, sort)
                .singleton()
                .costs(Cost::Static(cost_of_ordering), estimate),
        );
    }
    for (element, id) in ordered().into_iter().zip(SORT_BY) {
        let parameters = [list(t()), list(element)];
        overloads.push(
            Overload::member("@sortByAssociatedKeys", id, parameters, list(t()), sort_by_keys)
                .singleton()
                .costs(Cost::Static(cost_of_ordering_by_keys), estimate),
        );
    }
    overloads
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
    let [_, Value::Int(start), Value::Int(end)] = arguments else { return Err(EvalError::no_such_overload()) };
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
        [other, ..] => return Err(EvalError::new(format!("no such overload: {}.flatten()", other.type_name()))),
        [] => return Err(EvalError::no_such_overload()),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(receiver(arguments)?, depth, &mut flat);
    Ok(Value::list(flat))
}

/// Recursion ends with the depth of the values, which that of expressions and data bounds.
fn flatten_into<'a>(list: &List<'a>, depth: i64, flat: &mut Vec<Value<'a>>) {
    for item in list.iter() {
        match item {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat),
            item => flat.push(item),
        }
    }
}

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
    let Some(first) = keys.first() else { return Ok(Value::List(list.clone())) };
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
