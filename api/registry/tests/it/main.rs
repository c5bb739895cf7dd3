//! Integration tests of the registry over a store in memory, with the built-in kinds.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod allocation;
mod awkward_store;
mod failing_store;
mod pipeline;
mod resources;
mod write;
