//! Integration tests of the registry over a store in memory, with the built-in kinds.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod allocation;
mod awkward_store;
mod declarative;
mod failing_store;
mod pipeline;
#[path = "../../../wire/src/random.rs"]
mod random;
mod resources;
mod write;
