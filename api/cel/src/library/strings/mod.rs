//! Text: `charAt`, `indexOf`, `replace`, `split`, `join`, `substring`, `trim`, `format` and others.
//!
//! Places and sizes are counted in code points.

mod cost;
mod format;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use format::check as check_format;

use self::text::{MAX_TEXT_BYTES, Misplaced, quote, trim};
use super::arguments::{integer, part_of, text as argument, text_value};
use super::collections::traversal;
use super::cost::{estimated_tenth, estimated_tenth_sized, estimated_traversal, tenth};
use super::kinds::list;
use super::standard::show;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::{Call, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{List, Text, Value};

/// The release in which `format` and `strings.quote` appeared.
const SINCE_FORMAT: Release = Release(29);

/// Every overload.
pub(super) fn overloads() -> Vec<Overload> {
    [positions(), parts(), changes(), formats()].concat()
}

/// Characters and their positions in a string.
fn positions() -> Vec<Overload> {
    use Type::{Int, String};
    let searched = |id, function, parameters: &[Type], call: Call| {
        Overload::member(function, id, parameters, Int, call)
            .costs(Cost::Always(traversal), Estimate::Of(estimated_traversal))
    };
    let (text, text_from) = (&[String, String], &[String, String, Int]);
    vec![
        Overload::member("charAt", "string_char_at_int", &[String, Int], String, char_at),
        searched("string_index_of_string", "indexOf", text, index_of),
        searched("string_index_of_string_int", "indexOf", text_from, index_of),
        searched("string_last_index_of_string", "lastIndexOf", text, last_index_of),
        searched("string_last_index_of_string_int", "lastIndexOf", text_from, last_index_of),
    ]
}

/// Strings taken apart and put together.
fn parts() -> Vec<Overload> {
    use Type::{Int, String};
    let texts = || list(String);
    let parted = |id, parameters: &[Type]| {
        Overload::member("split", id, parameters, texts(), split)
            .costs(Cost::Always(super::cost::fifth), Estimate::Of(cost::estimate_of_splitting))
    };
    let cut = |id, parameters: &[Type]| {
        Overload::member("substring", id, parameters, String, substring)
            .costs(Cost::Always(tenth), Estimate::Of(estimated_tenth_sized))
    };
    let joined = |id, parameters: &[Type]| {
        Overload::member("join", id, parameters, String, join)
            .costs(Cost::Always(cost::cost_of_joining), Estimate::Of(cost::estimate_of_joining))
    };
    vec![
        parted("string_split_string", &[String, String]),
        parted("string_split_string_int", &[String, String, Int]),
        cut("string_substring_int", &[String, Int]),
        cut("string_substring_int_int", &[String, Int, Int]),
        joined("list_join", &[texts()]),
        joined("list_join_string", &[texts(), String]),
    ]
}

/// Strings with other characters.
fn changes() -> Vec<Overload> {
    use Type::{Int, String};
    let replaced = |id, parameters: &[Type]| {
        Overload::member("replace", id, parameters, String, replace)
            .costs(Cost::Always(super::cost::fifth), Estimate::Of(cost::estimate_of_replacing))
    };
    let scanned = |function, id, call: Call| {
        Overload::member(function, id, [String], String, call)
            .costs(Cost::Always(tenth), Estimate::Of(estimated_tenth_sized))
    };
    vec![
        scanned("lowerAscii", "string_lower_ascii", lower_ascii),
        replaced("string_replace_string_string", &[String, String, String]),
        replaced("string_replace_string_string_int", &[String, String, String, Int]),
        scanned("trim", "string_trim", trimmed),
        scanned("upperAscii", "string_upper_ascii", upper_ascii),
    ]
}

/// Values written as text.
fn formats() -> Vec<Overload> {
    use Type::String;
    vec![
        Overload::member("format", "string_format", &[String, list(Type::Dyn)], String, formatted)
            .costs(Cost::Static(tenth), Estimate::Of(estimated_tenth))
            .since(SINCE_FORMAT),
        Overload::global("strings.quote", "strings_quote", [String], String, quoted)
            .costs(Cost::Static(tenth), Estimate::Of(cost::estimate_of_quoting))
            .since(SINCE_FORMAT),
    ]
}

fn too_long() -> EvalError {
    EvalError::new(format!("text is longer than {MAX_TEXT_BYTES} bytes"))
}

fn misplaced(error: Misplaced) -> EvalError {
    EvalError::new(error.to_string())
}

/// The number at `at`, or `default` when there is no such argument.
fn integer_or(arguments: &[Value<'_>], at: usize, default: i64) -> Result<i64, EvalError> {
    if arguments.len() > at { integer(arguments, at) } else { Ok(default) }
}

/// A part of `whole`.
fn part<'a>(whole: &Text<'a>, part: &str) -> Value<'a> {
    Value::String(part_of(whole, part))
}

fn char_at<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let whole = text_value(arguments, 0)?;
    text::char_at(whole, integer(arguments, 1)?).map(|taken| part(whole, taken)).map_err(misplaced)
}

fn index_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let from = integer_or(arguments, 2, 0)?;
    text::index_of(argument(arguments, 0)?, argument(arguments, 1)?, from)
        .map(Value::Int)
        .map_err(misplaced)
}

fn last_index_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (whole, searched) = (argument(arguments, 0)?, argument(arguments, 1)?);
    if arguments.len() < 3 {
        return Ok(Value::Int(text::last_index_of(whole, searched)));
    }
    text::last_index_of_until(whole, searched, integer(arguments, 2)?)
        .map(Value::Int)
        .map_err(misplaced)
}

fn lower_ascii<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::string(argument(arguments, 0)?.to_ascii_lowercase()))
}

fn upper_ascii<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::string(argument(arguments, 0)?.to_ascii_uppercase()))
}

fn replace<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (whole, old, new) =
        (argument(arguments, 0)?, argument(arguments, 1)?, argument(arguments, 2)?);
    text::replace(whole, old, new, integer_or(arguments, 3, -1)?)
        .map(Value::string)
        .ok_or_else(too_long)
}

fn split<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let limit = integer_or(arguments, 2, -1)?;
    let whole = text_value(arguments, 0)?;
    let parts = text::split(whole, argument(arguments, 1)?, limit);
    Ok(Value::list(parts.into_iter().map(|taken| part(whole, taken)).collect()))
}

fn substring<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (whole, start) = (text_value(arguments, 0)?, integer(arguments, 1)?);
    let taken = match arguments.len() {
        2 => text::substring_from(whole, start),
        _ => text::substring(whole, start, integer(arguments, 2)?),
    };
    taken.map(|taken| part(whole, taken)).map_err(misplaced)
}

fn trimmed<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    text_value(arguments, 0).map(|whole| part(whole, trim(whole)))
}

fn join<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let Some(Value::List(items)) = arguments.first() else {
        return Err(EvalError::no_such_overload());
    };
    let separator = if arguments.len() > 1 { argument(arguments, 1)? } else { "" };
    joined(items, separator).map(Value::string)
}

fn joined(items: &List<'_>, separator: &str) -> Result<String, EvalError> {
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        let Value::String(text) = &item else {
            return Err(EvalError::new(format!("join: invalid input: {}", show(&item))));
        };
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
        if out.len() > MAX_TEXT_BYTES {
            return Err(too_long());
        }
    }
    Ok(out)
}

fn formatted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let Some(Value::List(items)) = arguments.get(1) else {
        return Err(EvalError::no_such_overload());
    };
    format::format(argument(arguments, 0)?, items).map(Value::string).map_err(EvalError::new)
}

fn quoted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::String(Text::from(quote(argument(arguments, 0)?))))
}
