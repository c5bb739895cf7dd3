//! The shape of a value: a scalar, a message, or a list or map of a shape.

use super::TypeId;

/// A value without parts in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `true` or `false`.
    Bool,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// Floating-point number.
    Double,
    /// Text.
    String,
    /// Binary data; base64 in JSON.
    Bytes,
    /// RFC 3339 time in UTC, whole seconds.
    Time,
    /// RFC 3339 time in UTC with six fraction digits.
    MicroTime,
    /// A quantity such as `100m`; text, or a number in requests.
    Quantity,
    /// A 32-bit integer or text.
    IntOrString,
    /// Any JSON.
    Any,
}

impl Scalar {
    /// The scalar with this IDL name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            "any" => Self::Any,
            _ => return None,
        })
    }
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A value without parts.
    Scalar(Scalar),
    /// A message of the graph.
    Message(TypeId),
    /// A list of elements of one shape.
    List(Box<Shape>),
    /// A map with string keys and values of one shape.
    Map(Box<Shape>),
}

impl Shape {
    /// The message that this shape ends in, through lists and maps.
    pub fn message(&self) -> Option<TypeId> {
        match self {
            Self::Scalar(_) => None,
            Self::Message(id) => Some(*id),
            Self::List(inner) | Self::Map(inner) => inner.message(),
        }
    }
}
