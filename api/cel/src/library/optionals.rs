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
    let (k, v) = (|| param("K"), || param("V"));
    let (lists, maps) = (|| list(v()), || map(k(), v()));
    let all = vec![
        Overload::global("optional.of", "optional_of", [v()], optional(v()), of),
        Overload::global(
            "optional.ofNonZeroValue",
            "optional_ofNonZeroValue",
            [v()],
            optional(v()),
            of_non_zero,
        ),
        Overload::global("optional.none", "optional_none", [], optional(v()), none),
        Overload::member("value", "optional_value", [optional(v())], v(), value),
        Overload::member("hasValue", "optional_hasValue", [optional(v())], Type::Bool, has_value),
        Overload::member(
            "or",
            "optional_or_optional",
            [optional(v()), optional(v())],
            optional(v()),
            in_evaluator,
        ),
        Overload::member(
            "orValue",
            "optional_orValue_value",
            [optional(v()), v()],
            v(),
            in_evaluator,
        ),
        Overload::global(
            "_?._",
            "select_optional_field",
            [Type::Dyn, Type::String],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[?_]",
            "list_optindex_optional_int",
            [lists(), Type::Int],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[?_]",
            "optional_list_optindex_optional_int",
            [optional(lists()), Type::Int],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[?_]",
            "map_optindex_optional_value",
            [maps(), k()],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[?_]",
            "optional_map_optindex_optional_value",
            [optional(maps()), k()],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[_]",
            "optional_list_index_int",
            [optional(lists()), Type::Int],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "_[_]",
            "optional_map_index_value",
            [optional(maps()), k()],
            optional(v()),
            in_evaluator,
        ),
        Overload::global(
            "optional.unwrap",
            "optional_unwrap",
            [list(optional(v()))],
            lists(),
            unwrap,
        ),
        Overload::member("unwrapOpt", "optional_unwrapOpt", [list(optional(v()))], lists(), unwrap),
        Overload::member("first", "list_first", [lists()], optional(v()), first),
        Overload::member("last", "list_last", [lists()], optional(v()), last),
    ];
    let since = |overload: Overload| match overload.function {
        "first" | "last" => overload.since(SINCE_ENDS),
        _ => overload.since(SINCE),
    };
    all.into_iter().map(since).collect()
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
