//! Short names for the types that declarations of overloads are made of.

use std::sync::Arc;

use crate::types::Type;

/// `list(T)`.
pub(crate) fn list(element: Type) -> Type {
    Type::List(Arc::new(element))
}

/// `map(K, V)`.
pub(crate) fn map(key: Type, value: Type) -> Type {
    Type::Map(Arc::new(key), Arc::new(value))
}

/// `optional_type(T)`.
pub(crate) fn optional(value: Type) -> Type {
    Type::Optional(Arc::new(value))
}

/// A type parameter.
pub(crate) fn param(name: &str) -> Type {
    Type::Param(name.into())
}

/// The types that have an order, in the order in which the reference engine declares them.
pub(crate) fn ordered() -> [Type; 8] {
    [
        Type::Int,
        Type::Uint,
        Type::Double,
        Type::Bool,
        Type::Duration,
        Type::Timestamp,
        Type::String,
        Type::Bytes,
    ]
}
