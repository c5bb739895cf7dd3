//! Errors of reading JSON, with the messages of Kubernetes.

use std::fmt;

use super::{MAX_BYTES, MAX_DEPTH};

/// The position and reason of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte offset at which reading stopped.
    pub offset: usize,
    /// What was wrong there.
    pub kind: ErrorKind,
}

/// The reason of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// More bytes than `MAX_BYTES`.
    TooLarge,
    /// Lists and maps nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A character that cannot stand there, and the context.
    Unexpected(char, &'static str),
    /// A number too large for a float.
    OutOfRange,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::TooLarge => write!(f, "JSON text is larger than {MAX_BYTES} bytes"),
            ErrorKind::TooDeep => write!(f, "JSON text is nested deeper than {MAX_DEPTH} levels"),
            ErrorKind::NotUtf8 => write!(f, "JSON text is not valid UTF-8 at byte {}", self.offset),
            ErrorKind::UnexpectedEnd => f.write_str("unexpected end of JSON input"),
            ErrorKind::Unexpected(char, place) => {
                write!(f, "invalid character {} {place}", Quoted(*char))
            }
            ErrorKind::OutOfRange => write!(f, "number at byte {} is out of range", self.offset),
        }
    }
}

impl std::error::Error for Error {}

/// A character in single quotes.
struct Quoted(char);

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '\'' => f.write_str(r"'\''"),
            '"' => f.write_str("'\"'"),
            other => write!(
                f,
                "'{}'",
                quorate_meta::quoted(other.encode_utf8(&mut [0; 4])).trim_matches('"')
            ),
        }
    }
}
