//! The [`Store`] trait: all that the API server knows of storage and replication.
//!
//! Invariant: every implementation passes the [`crate::conformance`] suite. Kept small on purpose:
//! whatever can be built from snapshots, transactions and watches does not belong here.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Error, HistoryError, Limits, Outcome, Past, Revision, Snapshot, Status, Txn, Watch};

/// A replicated, revisioned, ordered map from byte keys to byte values, seen from one node.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// A linearizable read point: once it returns `r`, this node has applied `r`, and every
    /// transaction that was acknowledged anywhere before the call has a revision of at most `r`.
    /// Concurrent calls share one round.
    async fn read_index(&self) -> Result<Revision, Error>;

    /// The newest state that this node has applied. Never waits.
    fn snapshot(&self) -> Snapshot;

    /// The state at exactly `at`, while it is retained.
    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError>;

    /// Returns once this node has applied `at`; never returns when that does not happen, so callers
    /// bound the wait.
    async fn applied(&self, at: Revision);

    /// Proposes a transaction and waits until it is decided and durable on a quorum.
    async fn txn(&self, txn: Txn) -> Result<Outcome, Error>;

    /// What a transaction is checked against before it is proposed. Never waits.
    fn limits(&self) -> Limits;

    /// Every batch after `after` that touches a key with this prefix, in order, without gap or
    /// repeat. `after` may be a revision that this node has not applied yet; the watch then starts
    /// once it is.
    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError>;

    /// What was, as far back as the archive reaches: much further than [`Store::snapshot_at`] and
    /// [`Store::watch`] do. `None` when this node keeps no archive.
    fn past(&self) -> Option<Arc<dyn Past>>;

    /// How this node and its cluster are, as far as this node knows. Never waits.
    fn status(&self) -> Status;
}
