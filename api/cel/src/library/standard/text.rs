//! Tests of text: `contains`, `startsWith`, `endsWith`.

use crate::eval::EvalError;
use crate::overload::{ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::Value;

/// The tests of text but `matches`, which is with the regular expressions.
pub(super) fn overloads() -> Vec<Overload> {
    use Type::{Bool, String};
    let part = |cost, estimate| (Cost::Static(cost), Estimate::Of(estimate));
    let (within, within_estimate) = part(cost_of_search, estimate_of_search);
    let (edge, edge_estimate) = part(cost_of_edge, estimate_of_edge);
    vec![
        Overload::member("contains", "contains_string", [String, String], Bool, contains)
            .singleton()
            .costs(within, within_estimate),
        Overload::member("endsWith", "ends_with_string", [String, String], Bool, ends_with)
            .singleton()
            .costs(edge, edge_estimate),
        Overload::member("startsWith", "starts_with_string", [String, String], Bool, starts_with)
            .singleton()
            .costs(edge, edge_estimate),
    ]
}

/// A tenth of each text, multiplied.
fn cost_of_search(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.iter().map(|argument| argument.cost_size().div_ceil(10)).fold(1, u64::saturating_mul)
}

fn estimate_of_search(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let sizes = arguments.iter().map(|argument| argument.size.scaled(0.1));
    let cost = sizes.fold(Range { min: 1, max: 1 }, |product, size| Range {
        min: product.min.saturating_mul(size.min),
        max: product.max.saturating_mul(size.max),
    });
    CallEstimate { cost, size: None }
}

/// A tenth of the receiver.
fn cost_of_edge(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.first().map_or(1, Value::cost_size).div_ceil(10)
}

/// A tenth of the argument: the reference engine estimates by the other operand than it counts.
fn estimate_of_edge(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let cost =
        arguments.get(1).map_or(Range { min: 1, max: 1 }, |argument| argument.size.scaled(0.1));
    CallEstimate { cost, size: None }
}

fn both<'v>(arguments: &'v [Value<'_>]) -> Result<(&'v str, &'v str), EvalError> {
    match arguments {
        [Value::String(left), Value::String(right)] => Ok((left, right)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn contains<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (text, part) = both(arguments)?;
    Ok(Value::Bool(text.contains(part)))
}

fn ends_with<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (text, part) = both(arguments)?;
    Ok(Value::Bool(text.ends_with(part)))
}

fn starts_with<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (text, part) = both(arguments)?;
    Ok(Value::Bool(text.starts_with(part)))
}
