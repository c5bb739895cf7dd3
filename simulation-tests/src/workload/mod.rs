//! The workloads: what clients do, and their records.
//!
//! Declarations, and which of them a run is about: `record` has the records and `exchange` the
//! calls of the store's clients, `writer` does transactions and reads, `watcher` watches; `api` has
//! the clients of the API, `definitions` those that also define what the API serves, and `policies` those
//! that also say what it admits.

mod exchange;
mod record;

pub(crate) mod api;
pub(crate) mod definitions;
pub(crate) mod policies;
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
    /// Custom resources of the API, whose definitions come, change and go.
    Definitions,
    /// The API, while admission policies come, change and go.
    Policies,
}

impl Workload {
    /// The one that a seed stands for when nothing else is said.
    pub(crate) fn of(seed: u64) -> Self {
        if seed % 24 == 20 {
            return Self::Policies;
        }
        match seed % 6 {
            4 => Self::Definitions,
            0 | 2 => Self::Api,
            _ => Self::Store,
        }
    }
}
