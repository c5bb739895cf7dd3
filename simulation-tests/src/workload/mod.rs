//! What clients do, and what they remember of it.
//!
//! Declarations only: `record` is what is remembered, `writer` does transactions and reads, `watcher` watches.

mod record;

pub(crate) mod watcher;
pub(crate) mod writer;

pub(crate) use record::{Decision, Progress, Record, Records, WatchRecord, What};
pub(crate) use watcher::watch;
pub(crate) use writer::work;
