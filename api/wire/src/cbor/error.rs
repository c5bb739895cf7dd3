//! Errors of reading CBOR.

use super::{MAX_BYTES, MAX_DEPTH, MAX_NODES};

/// The position and reason of an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cbor: {problem} (at byte {offset})")]
pub struct Error {
    /// Byte offset at which reading stopped.
    pub offset: usize,
    /// What was wrong there.
    pub problem: Problem,
}

/// The reason of an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// More bytes than [`MAX_BYTES`].
    #[error("body is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Arrays, maps and tags nested deeper than [`MAX_DEPTH`].
    #[error("body is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More data items than [`MAX_NODES`].
    #[error("body has more than {MAX_NODES} data items")]
    TooMany,
    /// The body ends inside a data item.
    #[error("unexpected end of data")]
    Truncated,
    /// Bytes after the data item.
    #[error("unexpected data after the data item")]
    Trailing,
    /// A head that no data item has.
    #[error("malformed data item")]
    Malformed,
    /// The end of an indefinite length where none began.
    #[error("unexpected break")]
    Break,
    /// A string that is not UTF-8.
    #[error("string is not valid UTF-8")]
    NotUtf8,
    /// A key that is no string.
    #[error("key of a map is no string")]
    Key,
    /// A key that its map already had.
    #[error("duplicate key {0:?} in a map")]
    Duplicate(String),
    /// A value that JSON cannot express.
    #[error("{0}")]
    Value(&'static str),
}
