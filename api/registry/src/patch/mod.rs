//! The patch formats that need no schema, over the working form of objects. Strategic merge needs one and lives in
//! `quorate-schema`.
//!
//! Pure: a patch is parsed once and can be applied to any number of objects, which is what a retry after a conflict does.

mod json;
mod merge;
mod pointer;
#[cfg(test)]
mod properties;

pub use json::{JsonPatch, MAX_OPERATIONS, Malformed, Rejected};
pub use merge::merge;
