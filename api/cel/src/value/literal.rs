//! Constants of the source as values.

use std::sync::Arc;

use super::{Blob, Text, Value};
use crate::ast::Literal;

impl From<&Literal> for Value<'static> {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(text) => Self::String(Text::Shared(Arc::clone(text))),
            Literal::Bytes(bytes) => Self::Bytes(Blob::Shared(Arc::clone(bytes))),
        }
    }
}
