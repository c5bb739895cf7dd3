//! Encodings of objects: JSON and YAML to and from the working tree, and the stored form that answers are spliced from.
//!
//! Everything here is pure and bounded: input size and depth have named limits, malformed input is an error and never a
//! panic. What fields mean is the business of `quorate-schema`; nothing here knows a kind.

pub mod json;
pub mod stored;
pub mod yaml;
