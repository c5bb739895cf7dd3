//! Static types of expressions.
//!
//! Invariants: cheap to clone; two types are the same when they are equal; [`Type`]'s text is the one that a checked
//! expression's type has, [`Type::short`] the one that stands in errors. Not here: how types are assigned and inferred (the
//! checker).

use std::fmt;
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
    /// `type`: a type as a value, when nothing is known of which.
    AnyType,
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

impl Type {
    /// The type's text in errors: null, timestamps, durations and any have short names there.
    pub fn short(&self) -> ShortType<'_> {
        ShortType(self)
    }

    /// Whether it is `dyn`, or an error, which is treated as `dyn` so that checking can go on.
    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, short: bool) -> fmt::Result {
        let text = match self {
            Type::Dyn => "dyn",
            Type::Error => "!error!",
            Type::Null if short => "null",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp if short => "timestamp",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration if short => "duration",
            Type::Duration => "google.protobuf.Duration",
            Type::Any if short => "any",
            Type::Any => "google.protobuf.Any",
            Type::AnyType => "type",
            Type::Object(name) | Type::Opaque(name) | Type::Param(name) => name,
            Type::Wrapper(inner) => return inner.write_within(f, "wrapper", short),
            Type::List(inner) => return inner.write_within(f, "list", short),
            Type::Optional(inner) => return inner.write_within(f, "optional_type", short),
            Type::Type(inner) => return inner.write_within(f, "type", short),
            Type::Map(key, value) => {
                f.write_str("map(")?;
                key.write(f, short)?;
                f.write_str(", ")?;
                value.write(f, short)?;
                return f.write_str(")");
            }
            Type::Variable(number) => return write!(f, "_var{number}"),
        };
        f.write_str(text)
    }

    fn write_within(&self, f: &mut fmt::Formatter<'_>, of: &str, short: bool) -> fmt::Result {
        write!(f, "{of}(")?;
        self.write(f, short)?;
        f.write_str(")")
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

/// A type as errors name it.
#[derive(Debug, Clone, Copy)]
pub struct ShortType<'t>(&'t Type);

impl fmt::Display for ShortType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, true)
    }
}
