//! Patch formats that need no schema: JSON Patch and JSON Merge Patch, over the working form of
//! objects.
//!
//! Invariants: no I/O; a patch is parsed once and can be applied to any number of objects, as a
//! retry after a conflict does.
//!
//! Not here: strategic merge patch, which needs a schema and is in `quorate-schema`.

mod json;
mod merge;
mod pointer;
#[cfg(test)]
mod properties;

pub use json::{JsonPatch, MAX_OPERATIONS, Malformed, Rejected};
pub use merge::merge;
