//! Evaluation of planned nodes against an activation, within a budget.

mod error;

pub use error::EvalError;
