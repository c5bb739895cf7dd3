//! The store as the API server sees it: a revisioned, ordered, watchable map with atomic transactions.
//!
//! This crate owns the contract ([`Store`]), the pure state machine that decides transactions, the in-memory serving form
//! with its watch hub, a memory implementation, and the conformance suite that every implementation passes. It knows
//! nothing of Raft, disks or HTTP.

pub mod env;

mod entry;
mod error;
mod revision;
mod status;
mod store;
mod txn;

pub use entry::{Batch, Entry, Event};
pub use error::{Error, HistoryError, NotApplied};
pub use revision::Revision;
pub use status::{NodeId, Status};
pub use store::Store;
pub use txn::{Condition, Operation, Outcome, Txn};
