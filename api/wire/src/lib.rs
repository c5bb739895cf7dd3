//! Encodings of objects: JSON, YAML, CBOR and protobuf to and from the working tree, the stored form that answers are
//! spliced from, and the PEM text that fields of certificates hold.
//!
//! Everything here is pure and bounded: input size and depth have named limits, malformed input is an error and never a
//! panic. What fields mean is the business of `quorate-schema`, whose graph drives protobuf; nothing here knows a kind.

pub mod cbor;
pub mod json;
pub mod pem_text;
pub mod protobuf;
#[cfg(test)]
mod random;
#[cfg(test)]
mod round_trips;
pub mod stored;
pub mod yaml;
