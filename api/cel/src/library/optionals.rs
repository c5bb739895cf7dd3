//! Optional values.
//!
//! `or`, `orValue`, `?.` and `[?]` are nodes of the evaluator's own: they do not evaluate all of their operands.

use super::kinds::{list, map, optional, param};
use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::Overload;
use crate::types::Type;
use crate::value::Value;

/// The release in which optionals appeared.
const SINCE: Release = Release(29);
/// The release in which `first` and `last` appeared.
const SINCE_ENDS: Release = Release(34);

/// Every overload of optionals.
pub(super) fn overloads() -> Vec<Overload> {
    let early = [values(), selections(), indexes()].into_iter().flatten();
    let late = ends().into_iter().map(|overload| overload.since(SINCE_ENDS));
    early.map(|overload| overload.since(SINCE)).chain(late).collect()
}

fn k() -> Type {
    param("K")
}

fn v() -> Type {
    param("V")
}

/// Making an optional and taking its value.
fn values() -> Vec<Overload> {
    let some = || optional(v());
    let (from, to) = (list(some()), list(v()));
    vec![
        Overload::global("optional.of", "optional_of", [v()], some(), of),
        Overload::global(
            "optional.ofNonZeroValue",
            "optional_ofNonZeroValue",
            [v()],
            some(),
            of_non_zero,
        ),
        Overload::global("optional.none", "optional_none", [], some(), none),
        Overload::member("value", "optional_value", [some()], v(), value),
        Overload::member("hasValue", "optional_hasValue", [some()], Type::Bool, has_value),
        Overload::global("optional.unwrap", "optional_unwrap", [from.clone()], to.clone(), unwrap),
        Overload::member("unwrapOpt", "optional_unwrapOpt", [from], to, unwrap),
    ]
}

/// Alternatives, and the selection of a field.
fn selections() -> Vec<Overload> {
    let some = || optional(v());
    vec![
        Overload::member("or", "optional_or_optional", [some(), some()], some(), in_evaluator),
        Overload::member("orValue", "optional_orValue_value", [some(), v()], v(), in_evaluator),
        Overload::global(
            "_?._",
            "select_optional_field",
            [Type::Dyn, Type::String],
            some(),
            in_evaluator,
        ),
    ]
}

/// Elements of lists and entries of maps.
fn indexes() -> Vec<Overload> {
    let (lists, maps) = (|| list(v()), || map(k(), v()));
    let index = |function, id, from: Type, key: Type| {
        Overload::global(function, id, [from, key], optional(v()), in_evaluator)
    };
    vec![
        index("_[?_]", "list_optindex_optional_int", lists(), Type::Int),
        index("_[?_]", "optional_list_optindex_optional_int", optional(lists()), Type::Int),
        index("_[?_]", "map_optindex_optional_value", maps(), k()),
        index("_[?_]", "optional_map_optindex_optional_value", optional(maps()), k()),
        index("_[_]", "optional_list_index_int", optional(lists()), Type::Int),
        index("_[_]", "optional_map_index_value", optional(maps()), k()),
    ]
}

/// The first and the last element of a list.
fn ends() -> Vec<Overload> {
    vec![
        Overload::member("first", "list_first", [list(v())], optional(v()), first),
        Overload::member("last", "list_last", [list(v())], optional(v()), last),
    ]
}

fn in_evaluator<'a>(_arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Err(EvalError::no_such_overload())
}

fn of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [value] => Ok(Value::some(value.clone())),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn of_non_zero<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [value] if value.is_zero() => Ok(Value::NONE),
        _ => of(arguments),
    }
}

fn none<'a>(_arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::NONE)
}

fn value<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Optional(Some(held))] => match &**held {
            Value::Error(error) => Err((**error).clone()),
            held => Ok(held.clone()),
        },
        [Value::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn has_value<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Optional(held)] => Ok(Value::Bool(held.is_some())),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn unwrap<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let [Value::List(list)] = arguments else {
        return Err(EvalError::no_such_overload());
    };
    let held = list.iter().filter_map(|item| match item {
        Value::Optional(held) => held.map(|held| Value::clone(&held)),
        item => Some(item),
    });
    Ok(Value::list(held.collect()))
}

fn first<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::List(list)] => Ok(list.get(0).map_or(Value::NONE, Value::some)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn last<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::List(list)] => {
            let last = list.len().checked_sub(1).and_then(|at| list.get(at));
            Ok(last.map_or(Value::NONE, Value::some))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}
