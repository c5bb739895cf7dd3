//! The wire encoding of peer messages: postcard, one value per message.
//!
//! Invariants: both ends run the same release or one whose messages only grew at the end of enums
//! (postcard is positional); [`MAX_MESSAGE_BYTES`] bounds what either end accepts. This file knows
//! no message; each caller names its types.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::Status;

/// The largest message that either end of a peer RPC accepts, in bytes: one append request holds at
/// most `MAX_APPEND_ENTRIES` entries and the log bounds their bytes far below this.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Encodes a message.
pub(crate) fn encode<T: Serialize>(message: &T) -> Bytes {
    encode_long(message, 0)
}

/// Encodes a message that takes about so many bytes.
pub(crate) fn encode_long<T: Serialize>(message: &T, bytes: usize) -> Bytes {
    let encoded = postcard::to_extend(message, Vec::with_capacity(bytes));
    encoded.expect("peer messages hold only types that postcard can encode").into()
}

/// Decodes what the other end sent.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Status> {
    postcard::from_bytes(bytes)
        .map_err(|error| Status::invalid_argument(format!("malformed peer message: {error}")))
}
