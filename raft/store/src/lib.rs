//! The store as the API server sees it: a revisioned, ordered, watchable map with atomic
//! transactions.
//!
//! This crate owns the contract ([`Store`]), the pure state machine that decides transactions, the
//! in-memory serving form with its watch hub, a memory implementation, and the conformance suite
//! that every implementation passes. It knows nothing of Raft, disks or HTTP.

pub mod conformance;

mod digest;
mod entry;
mod error;
mod layer;
mod limits;
mod memory;
mod past;
mod purge;
mod purges;
mod revision;
mod serving;
mod snapshot;
mod state;
mod status;
mod store;
mod tree;
mod txn;
mod txn_encoding;

pub use digest::Digest;
pub use entry::{Batch, Entry, Event};
pub use error::{Error, HistoryError, NotApplied};
pub use layer::Layer;
pub use limits::{
    DEFAULT_HISTORY_BYTES, DEFAULT_RETENTION_MS, DEFAULT_STORE_BYTES, DEFAULT_TXN_BYTES, Limits,
    Retention,
};
pub use memory::{MemoryOptions, MemoryStore};
pub use past::{Extent, Gap, Past, PastError, PurgeCount, Version};
pub use purge::{MAX_PURGE_KEPT, MAX_PURGES, PURGES, Purge};
pub use purges::{KnownPurge, Purges};
pub use revision::Revision;
pub use serving::{
    DEFAULT_RING_BYTES, History, Narrowing, Serving, ServingOptions, Term, TermSource, Watch,
    WatchBatch,
};
pub use snapshot::Snapshot;
pub use state::{Applied, State};
pub use status::{NodeId, Status};
pub use store::Store;
pub use txn::{Condition, MAX_KEY_BYTES, MAX_ORIGIN_BYTES, Operation, Outcome, Txn};
