//! CBOR (RFC 8949, KEP-4222): to `Value`, and from JSON text.
//!
//! Writing is deterministic (section 4.2.1): definite lengths, shortest heads and floats, keys in
//! the order of their bytes. Text is written as byte strings, binary fields of the schema as byte
//! strings with tag 22, times as their RFC 3339 text; every body begins with the tag of
//! self-described CBOR. JSON text is encoded directly, without a tree.
//!
//! Reading also accepts text strings, indefinite lengths and tags. Duplicate keys are an error, and
//! so is a value that JSON cannot express. Hostile input is an error: sizes and depth have named
//! limits, and a claimed length allocates nothing.
//!
//! Not here: content negotiation, and the feature gate of CBOR.

mod error;
mod frame;
mod read;
mod reader;
#[cfg(test)]
mod tests;
mod transcode;
mod writer;

pub use error::{Error, Problem};
pub use frame::{around_list, write_event};
pub use read::{MAX_BYTES, MAX_DEPTH, MAX_NODES, parse};
pub use transcode::{Schema, encode, encode_item};
