//! Custom resources: what stored definitions say, and how it becomes served resources.
//!
//! Not here: the controllers that decide whether a definition is served (`quorate-controllers`).

pub mod approval;
pub mod definition;
mod field;
mod patterns;
pub mod strategy;
mod validation;
mod warnings;

pub use patterns::compile_pattern;
