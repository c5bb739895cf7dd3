//! Custom resources: what stored definitions say, and how it becomes served resources.
//!
//! Not here: the controllers that decide whether a definition is served (`quorate-controllers`).

pub mod approval;
pub mod compiled_schemas;
pub mod conversion;
pub mod custom_strategy;
pub mod definition;
mod field;
mod finalizers;
pub mod mark;
pub mod publisher;
pub mod reader;
pub mod resource;
pub mod rules;
pub mod serving;
pub mod strategy;
#[cfg(test)]
mod testing;
mod validation;
pub mod version;
mod warnings;
