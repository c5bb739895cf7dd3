//! Errors of evaluation and planning.
//!
//! Invariant: a final error ends the evaluation; the others are values that `&&`, `||` and the macros built on them absorb.

use std::borrow::Cow;
use std::fmt;

use crate::value::Value;

/// Why an evaluation, or a part of it, has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalError {
    /// A function or an access failed; the text is what clients see.
    Failed(Cow<'static, str>),
    /// The expression has cost more than it may.
    CostLimit,
    /// The evaluation was asked to stop.
    Interrupted,
    /// The reference engine breaks down here; the evaluation ends.
    Internal(&'static str),
    /// An answer from elsewhere (an authorizer) is not there yet; the evaluation may be done again when it is.
    Pending,
}

impl EvalError {
    /// An error with this text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed(text.into())
    }

    /// An argument of another type than any overload takes.
    pub const fn no_such_overload() -> Self {
        Self::Failed(Cow::Borrowed("no such overload"))
    }

    /// An operand of a type that does not know an operator or method; text and times refuse it in words of their own.
    pub(crate) fn no_operator(operand: &Value<'_>, function: &str) -> Self {
        match operand {
            Value::String(_) | Value::Timestamp(_) | Value::Duration(_) => Self::no_such_overload(),
            _ => Self::new(format!("no such overload: {function}")),
        }
    }

    /// Whether it ends the evaluation and is never absorbed.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(text) => text,
            Self::Internal(text) => return write!(f, "internal error: {text}"),
            Self::CostLimit => "operation cancelled: actual cost limit exceeded",
            Self::Interrupted => "operation interrupted",
            Self::Pending => "an answer is pending",
        })
    }
}

impl std::error::Error for EvalError {}
