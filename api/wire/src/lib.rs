//! Encodings of objects: JSON, YAML, CBOR and protobuf to and from `Value`, the stored form that
//! responses are spliced from, and the PEM text in fields of certificates.
//!
//! Everything is pure and bounded: input size and depth have named limits, malformed input is an
//! error and never a panic.
//!
//! Not here: the meaning of fields (`quorate-schema`, whose graph drives protobuf), and rules of
//! kinds.

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
