//! CBOR (RFC 8949) to `Value`, and JSON text to CBOR (001, media types).
//!
//! Writing is deterministic (section 4.2.1): definite lengths, shortest heads and floats, keys in the order of their bytes.
//! Text is written as byte strings, binary fields of the schema as byte strings with tag 22, times as their RFC 3339 text;
//! every body begins with the tag of self-described CBOR. It is made from JSON text directly, without a tree.
//!
//! Reading takes what other writers send as well: text strings, indefinite lengths, tags. Keys that come twice are an error,
//! and so is what JSON has no form for. Hostile input is an error: sizes and depth have named limits, and nothing is allocated
//! for bytes that are not there.
//!
//! Not here: which media type means CBOR, and whether it is switched on.

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
