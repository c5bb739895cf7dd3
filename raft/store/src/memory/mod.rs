//! The store in memory: one node, no log, no disk. For tests, and the yardstick for every other
//! implementation.

mod history;
mod past;
mod store;

pub use store::{MemoryOptions, MemoryStore};
