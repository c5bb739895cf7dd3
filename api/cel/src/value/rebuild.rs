//! Optionals read from a variable, or chosen by `?:`.
//!
//! The reference engine turns what such an optional holds into a value of its host language and back. Most values survive;
//! those of some libraries become an error that the optional then holds, types become their names, optionals in optionals
//! collapse.

use std::sync::Arc;

use super::{Text, Value};
use crate::eval::EvalError;

impl<'a> Value<'a> {
    /// This value after it was read from a variable or chosen by `?:`.
    pub(crate) fn rebuilt(self) -> Self {
        match self {
            Self::Optional(Some(held)) if needs_rebuilding(&held) => {
                Self::some(rebuilt_inner(&held))
            }
            value => value,
        }
    }
}

fn needs_rebuilding(held: &Value<'_>) -> bool {
    match held {
        Value::Type(_) | Value::Optional(_) => true,
        Value::Opaque(value) => value.host_type().is_some(),
        _ => false,
    }
}

fn rebuilt_inner<'a>(held: &Value<'a>) -> Value<'a> {
    match held {
        Value::Type(name) => Value::String(match name {
            Text::Borrowed(name) => Text::Borrowed(name),
            Text::Shared(name) => Text::Shared(Arc::clone(name)),
        }),
        Value::Optional(None) => Value::Null,
        Value::Optional(Some(inner)) => rebuilt_inner(inner),
        Value::Opaque(value) => match value.host_type() {
            Some(host) => {
                let text = format!("unsupported conversion to ref.Val: ({host}){}", value.text());
                Value::Error(Arc::new(EvalError::new(text)))
            }
            None => held.clone(),
        },
        held => held.clone(),
    }
}
