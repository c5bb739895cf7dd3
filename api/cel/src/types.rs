//! Static types of expressions.
//!
//! Invariants: cheap to clone; two types are the same when they are equal. Not here: how types are assigned and inferred
//! (the checker).

use std::sync::Arc;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// `dyn`: known only while the expression runs.
    Dyn,
    /// What an expression with an error has.
    Error,
    /// `null_type`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint`.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// `google.protobuf.Any`.
    Any,
    /// A primitive or null: `wrapper(int)`.
    Wrapper(Arc<Type>),
    /// `list(T)`.
    List(Arc<Type>),
    /// `map(K, V)`.
    Map(Arc<Type>, Arc<Type>),
    /// `optional_type(T)`.
    Optional(Arc<Type>),
    /// `type(T)`: a type as a value.
    Type(Arc<Type>),
    /// An object with declared fields, by the name under which the environment's type provider knows it.
    Object(Arc<str>),
    /// A type of a library, such as `svc.Quantity`.
    Opaque(Arc<str>),
    /// A type parameter of an overload's declaration, such as `T`.
    Param(Arc<str>),
    /// A type variable of the checker.
    Variable(u32),
}
