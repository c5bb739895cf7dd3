//! JSON text to and from `Value`.
//!
//! Reading is strict (no trailing data, valid UTF-8, bounded depth and size), keeps integers exact,
//! and reports duplicate fields with their paths, for field validation (KEP-2885). Writing is
//! canonical: sorted keys, one form per number, no optional escapes; two equal trees have equal
//! bytes.

mod error;
mod lexer;
mod parse;
mod parts;
mod scan;
#[cfg(test)]
pub(crate) mod tests;
mod write;

pub use error::{Error, ErrorKind};
pub(crate) use lexer::Lexer;
pub use parse::{MAX_BYTES, MAX_DEPTH, MAX_DUPLICATES, parse};
pub use parts::{Parts, parse_parts};
pub use write::{pretty, to_vec, write, write_string};
