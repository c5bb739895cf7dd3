//! What implementations take from their arguments.

use crate::eval::EvalError;
use crate::value::Value;

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
pub(super) fn opaque<'v, T: 'static>(arguments: &'v [Value<'_>], at: usize) -> Result<&'v T, EvalError> {
    arguments.get(at).and_then(Value::as_opaque).ok_or(EvalError::no_such_overload())
}
