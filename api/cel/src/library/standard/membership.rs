//! Sizes, `in` and indexing.

use crate::eval::EvalError;
use crate::library::kinds::{list, map, param};
use crate::overload::{ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::Value;

/// `size`, `in` and `[]`.
pub(super) fn overloads() -> Vec<Overload> {
    let (a, b) = (|| param("A"), || param("B"));
    let global = |id, of| Overload::global("size", id, [of], Type::Int, size_call).singleton();
    let member = |id, of| Overload::member("size", id, [of], Type::Int, size_call).singleton();
    vec![
        global("size_bytes", Type::Bytes),
        member("bytes_size", Type::Bytes),
        global("size_list", list(a())),
        member("list_size", list(a())),
        global("size_map", map(a(), b())),
        member("map_size", map(a(), b())),
        global("size_string", Type::String),
        member("string_size", Type::String),
        Overload::global("@in", "in_list", [a(), list(a())], Type::Bool, contains_call)
            .singleton()
            .costs(Cost::Static(size_of_list), Estimate::Of(estimate_of_list)),
        Overload::global("@in", "in_map", [a(), map(a(), b())], Type::Bool, contains_call)
            .singleton(),
        Overload::global("_[_]", "index_list", [list(a()), Type::Int], a(), index).singleton(),
        Overload::global("_[_]", "index_map", [map(a(), b()), a()], b(), index).singleton(),
    ]
}

fn size_of_list(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.get(1).map_or(1, Value::cost_size)
}

fn estimate_of_list(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let cost = arguments.get(1).map_or(Range { min: 1, max: 1 }, |list| list.size);
    CallEstimate { cost, size: None }
}

fn size_call<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    size(arguments.first().ok_or(EvalError::no_such_overload())?)
}

/// `size(value)`.
pub(crate) fn size<'a>(value: &Value<'a>) -> Result<Value<'a>, EvalError> {
    let size = value.size().ok_or_else(|| EvalError::no_operator(value, "size"))?;
    i64::try_from(size).map(Value::Int).map_err(|_| EvalError::new("integer overflow"))
}

fn contains_call<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [item, container] => contains(item, container).map(Value::Bool),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `item in container`.
pub(crate) fn contains(item: &Value<'_>, container: &Value<'_>) -> Result<bool, EvalError> {
    match container {
        Value::List(list) => {
            let mut failed = None;
            for element in list.iter() {
                match item.equals(&element) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed.map_or(Ok(false), Err)
        }
        Value::Map(map) => Ok(map.find(item)?.is_some()),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Indexing, which the evaluator does by nodes of its own.
fn index<'a>(_arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Err(EvalError::no_such_overload())
}
