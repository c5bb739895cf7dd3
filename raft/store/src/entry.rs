//! Entries and events: what the store keeps for a key, and what a watcher gets when it changes.
//!
//! Invariant: an entry is immutable and cheap to clone (its bytes are shared). The bytes are opaque
//! here.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Revision;

/// The value of a key and the revisions that made it.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Opaque to the store.
    pub value: Bytes,
    /// The transaction that created the key (since its last deletion).
    pub created: Revision,
    /// The transaction that last changed it.
    pub modified: Revision,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let same_bytes = || {
            // Versions of a state share most values, which are then not read.
            self.value.as_ptr_range() == other.value.as_ptr_range() || self.value == other.value
        };
        self.modified == other.modified && self.created == other.created && same_bytes()
    }
}

/// One key's change in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The key.
    pub key: Bytes,
    /// What it holds now; `None` after a deletion.
    pub current: Option<Entry>,
    /// What it held before; `None` after a creation.
    pub previous: Option<Entry>,
}

/// Every change of one committed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The transaction's revision.
    pub revision: Revision,
    /// When it was proposed, in milliseconds since the Unix epoch; never decreasing from batch to
    /// batch.
    pub time_ms: u64,
    /// The changes in the order of the operations. Empty when every operation deleted an absent
    /// key.
    pub events: Arc<[Event]>,
    /// See [`crate::Txn::origin`].
    pub origin: Bytes,
}

/// Bytes that an event takes in memory besides its key and values.
const EVENT_OVERHEAD: usize = 160;
/// Bytes that a batch takes in memory besides its events.
const BATCH_OVERHEAD: usize = 96;

impl Batch {
    /// Roughly the bytes of memory that keeping it costs, the previous values included. The same on
    /// every node.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let value = |entry: &Option<Entry>| entry.as_ref().map_or(0, |entry| entry.value.len());
        let event = |event: &Event| {
            EVENT_OVERHEAD + event.key.len() + value(&event.current) + value(&event.previous)
        };
        BATCH_OVERHEAD + self.origin.len() + self.events.iter().map(event).sum::<usize>()
    }

    /// Whether it changes a key with this prefix.
    #[must_use]
    pub fn touches(&self, prefix: &[u8]) -> bool {
        self.events.iter().any(|event| event.key.starts_with(prefix))
    }
}
