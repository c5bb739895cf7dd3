//! Errors of reading and writing protobuf.

use std::fmt;

use super::{MAX_BYTES, MAX_DEPTH};

/// The position and reason of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Innermost known field as `Type.field`; empty outside of any field.
    pub field: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// The reason of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// More bytes than `MAX_BYTES`.
    TooLarge,
    /// Nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// The body does not begin with the prefix of the envelope.
    Prefix,
    /// The bytes end inside a value.
    Truncated,
    /// A number of more than 64 bits.
    LongNumber,
    /// A field number or wire type that does not exist, or a group without its other end.
    Key(u64),
    /// The field's type is written differently.
    WireType,
    /// Text that is not UTF-8.
    NotUtf8,
    /// A value outside of the range of its type, in words.
    Value(String),
}

impl Error {
    /// The same error with a field, unless an inner one is known.
    pub(super) fn within(mut self, ty: &str, field: &str) -> Self {
        if self.field.is_empty() {
            self.field = format!("{ty}.{field}");
        }
        self
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self { field: String::new(), problem }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("protobuf: ")?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "message is larger than {MAX_BYTES} bytes"),
            Self::TooDeep => write!(f, "message is nested deeper than {MAX_DEPTH} levels"),
            Self::Prefix => f.write_str("body does not begin with the expected prefix"),
            Self::Truncated => f.write_str("unexpected end of message"),
            Self::LongNumber => f.write_str("number is longer than 64 bits"),
            Self::Key(key) => write!(f, "illegal field key {key}"),
            Self::WireType => f.write_str("wrong wire type"),
            Self::NotUtf8 => f.write_str("text is not valid UTF-8"),
            Self::Value(problem) => f.write_str(problem),
        }
    }
}
