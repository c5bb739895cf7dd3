//! What implementations take from their arguments.

use crate::eval::EvalError;
use crate::value::{Text, Value};

/// The text at `at`.
pub(super) fn text<'v>(arguments: &'v [Value<'_>], at: usize) -> Result<&'v str, EvalError> {
    arguments.get(at).and_then(Value::as_str).ok_or(EvalError::no_such_overload())
}

/// The integer at `at`.
pub(super) fn integer(arguments: &[Value<'_>], at: usize) -> Result<i64, EvalError> {
    match arguments.get(at) {
        Some(Value::Int(value)) => Ok(*value),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// The library's own value at `at`.
pub(super) fn opaque<'v, T: 'static>(
    arguments: &'v [Value<'_>],
    at: usize,
) -> Result<&'v T, EvalError> {
    arguments.get(at).and_then(Value::as_opaque).ok_or(EvalError::no_such_overload())
}

/// The text at `at`, with what holds it.
pub(super) fn text_value<'v, 'a>(
    arguments: &'v [Value<'a>],
    at: usize,
) -> Result<&'v Text<'a>, EvalError> {
    match arguments.get(at) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// A part of text: of what the program or data holds a borrow, of anything else a copy.
pub(super) fn part_of<'a>(whole: &Text<'a>, part: &str) -> Text<'a> {
    if let Text::Borrowed(whole) = whole {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        if let Some(found) = whole.get(start..start.wrapping_add(part.len()))
            && found == part
        {
            return Text::Borrowed(found);
        }
    }
    Text::Shared(part.into())
}
