//! The functions of regular expressions.
//!
//! A constant expression is read while the program is planned; such a call looks at its other arguments itself.

use super::Pattern;
use crate::eval::EvalError;
use crate::library::arguments::{integer, part_of, text, text_value};
use crate::library::cost::{estimated_size, exactly, product, size_of, sum};
use crate::library::kinds::list;
use crate::overload::{
    ArgumentEstimate, CallEstimate, Cost, Estimate, Overload, PreparedCall, Range,
};
use crate::types::Type;
use crate::value::Value;

/// Cost of a character of an expression.
const PATTERN_FACTOR: f64 = 0.25;

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    use Type::{Bool, Int, String};
    let found = |overload: Overload| {
        overload.costs(Cost::Always(cost_of_matching), Estimate::Of(estimate_of_finding))
    };
    vec![
        Overload::global("matches", "matches", [String, String], Bool, matches)
            .singleton()
            .prepared(1, |pattern| prepare(pattern, SearchMode::Matches)),
        Overload::member("matches", "matches_string", [String, String], Bool, matches)
            .singleton()
            .costs(Cost::Static(cost_of_matching), Estimate::Of(estimate_of_matching))
            .prepared(1, |pattern| prepare(pattern, SearchMode::Matches)),
        found(Overload::member("find", "string_find_string", [String, String], String, find))
            .prepared(1, |pattern| prepare(pattern, SearchMode::First)),
        found(Overload::member(
            "findAll",
            "string_find_all_string",
            [String, String],
            list(String),
            find_all,
        ))
        .prepared(1, |pattern| prepare(pattern, SearchMode::All)),
        found(Overload::member(
            "findAll",
            "string_find_all_string_int",
            [String, String, Int],
            list(String),
            find_all,
        ))
        .prepared(1, |pattern| prepare(pattern, SearchMode::All)),
    ]
}

/// A tenth of the text, once more for an end, times a quarter of the expression.
fn cost_of_matching(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    let text = size_of(arguments, 0).saturating_add(1).div_ceil(10);
    text.saturating_mul(size_of(arguments, 1).div_ceil(4))
}

fn estimate_of_matching(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let text = sum(estimated_size(arguments, 0), exactly(1)).scaled(0.1);
    CallEstimate {
        cost: product(text, estimated_size(arguments, 1).scaled(PATTERN_FACTOR)),
        size: None,
    }
}

/// As matching; there may be as much in the result as in the text.
fn estimate_of_finding(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let size = Range { min: 0, max: estimated_size(arguments, 0).max };
    CallEstimate { size: Some(size), ..estimate_of_matching(arguments) }
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
enum SearchMode {
    Matches,
    First,
    All,
}

/// A call whose expression is constant.
#[derive(Debug)]
struct Prepared {
    pattern: Pattern,
    search: SearchMode,
}

fn prepare(
    pattern: &Value<'static>,
    search: SearchMode,
) -> Result<Box<dyn PreparedCall>, EvalError> {
    let text = pattern.as_str().ok_or(EvalError::no_such_overload())?;
    let pattern = Pattern::parse(text).map_err(|error| EvalError::new(error.to_string()))?;
    Ok(Box::new(Prepared { pattern, search }))
}

impl PreparedCall for Prepared {
    fn call<'a>(&self, arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
        search(&self.pattern, self.search, arguments)
    }
}

fn search<'a>(
    pattern: &Pattern,
    search: SearchMode,
    arguments: &[Value<'a>],
) -> Result<Value<'a>, EvalError> {
    let whole = text_value(arguments, 0)?;
    let failed = |error: super::error::RegexError| EvalError::new(error.to_string());
    match search {
        SearchMode::Matches => pattern.is_match(whole).map(Value::Bool).map_err(failed),
        SearchMode::First => {
            let found = pattern.find(whole).map_err(failed)?;
            Ok(Value::String(part_of(whole, found.unwrap_or(""))))
        }
        SearchMode::All => {
            let limit = if arguments.len() > 2 { integer(arguments, 2)? } else { -1 };
            let found = pattern
                .find_all(whole, usize::try_from(limit).unwrap_or(usize::MAX))
                .map_err(failed)?;
            Ok(Value::list(
                found.into_iter().map(|found| Value::String(part_of(whole, found))).collect(),
            ))
        }
    }
}

fn matches<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::String(_), Value::String(pattern)] => {
            let pattern =
                Pattern::parse(pattern).map_err(|error| EvalError::new(error.to_string()))?;
            search(&pattern, SearchMode::Matches, arguments)
        }
        [Value::String(_), _] => Err(EvalError::no_such_overload()),
        _ => Err(EvalError::new("no such overload: matches")),
    }
}

fn find<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    search(&dynamic(arguments)?, SearchMode::First, arguments)
}

fn find_all<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    search(&dynamic(arguments)?, SearchMode::All, arguments)
}

fn dynamic(arguments: &[Value<'_>]) -> Result<Pattern, EvalError> {
    Pattern::parse(text(arguments, 1)?)
        .map_err(|error| EvalError::new(format!("Illegal regex: {error}")))
}
