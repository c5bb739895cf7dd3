//! Declarative validation (KEP-5073): rules that stand beside the fields of the schema, checked on
//! an object or on a change of one.
//!
//! Invariants: what has not changed is not checked again; a field whose first rules fail, or which
//! is optional and absent, is not checked further, nor what lies below it.
//!
//! Not here: for which kinds the rules are run, and whether their result counts.

mod compare;
mod format;
#[cfg(test)]
mod tests;
mod walk;

pub use compare::{RuleComparison, compare};
pub use walk::check;
