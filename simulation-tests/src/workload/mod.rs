//! The workloads: what clients do, and their records.
//!
//! Declarations, and which of the two a run is about: `record` has the records and `exchange` the
//! calls of the store's clients, `writer` does transactions and reads, `watcher` watches; `api` has
//! the clients of the API.

mod exchange;
mod record;

pub(crate) mod api;
pub(crate) mod watcher;
pub(crate) mod writer;

pub(crate) use exchange::{
    Decision, Seen, StoreCall, StoreExchange, StoreProgress, StoreRecords, WatchRecord,
};
pub(crate) use watcher::watch;
pub(crate) use writer::work;

use clap::ValueEnum;

/// What the clients of a run work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// The store, behind a gateway of the simulation.
    Store,
    /// The API, behind the production server on every node.
    Api,
}

impl Workload {
    /// The one that a seed stands for when nothing else is said.
    pub(crate) fn of(seed: u64) -> Self {
        if seed.is_multiple_of(2) { Self::Api } else { Self::Store }
    }
}
