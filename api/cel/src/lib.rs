//! The Common Expression Language of a Kubernetes release-1.35 API server: parsed, typed, costed and evaluated.
//!
//! The way of an expression: [`parser`] (text to [`ast`], macros expanded) -> [`checker`] (types and overloads, against an
//! `Environment`) -> [`estimate`] (static cost) -> [`plan`] (constants folded, overloads bound) -> a `Program`, which is
//! `Send + Sync`, shared, and evaluated against an activation and a budget by [`eval`]. The functions live in [`library`],
//! a file each library: declarations, implementation, run-time cost and estimate of one overload stand side by side.
//!
//! Invariants: no IO, no clock, no randomness; an evaluation never panics, never overflows the stack, and ends within its
//! budget. Not here: where expressions come from (policies, definitions) and what their answers mean.

pub mod answer;
pub mod ast;
pub mod checker;
pub mod declarations;
pub mod environment;
pub mod error;
pub mod estimate;
pub mod eval;
pub mod library;
pub mod naming;
pub mod overload;
pub mod parser;
pub mod plan;
pub mod program;
pub mod record;
pub mod types;
pub mod value;
