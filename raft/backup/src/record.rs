//! What the objects of a repository hold, as postcard encodes it.
//!
//! Invariant: a field is never taken away or changed within a format; what is new comes behind, with a
//! new format.

use bytes::Bytes;
use quorate_store::{Batch, Entry, Revision};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::layout::{BaseId, PartId, SegmentId};
use crate::sealed::RepositoryId;

/// The SHA-256 of an object.
pub(crate) type Hash = [u8; 32];

/// The hash of an object's bytes.
pub(crate) fn hash(object: &[u8]) -> Hash {
    digest(&SHA256, object).as_ref().try_into().expect("a SHA-256 hash has 32 bytes")
}

/// The repository's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) repository: RepositoryId,
    /// The cluster whose states these are, as it prints.
    pub(crate) cluster: String,
    /// Its naming profile.
    pub(crate) naming: String,
    pub(crate) created_ms: u64,
}

/// What must be there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Complete bases, oldest first.
    pub(crate) bases: Vec<BaseId>,
    /// The last segment and its hash.
    pub(crate) tail: Option<(SegmentId, Hash)>,
}

/// A part of a base.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) entries: Vec<(Bytes, Entry)>,
}

/// What a complete base is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The revision whose state it is.
    pub revision: Revision,
    /// The clock of the node when the state was taken, milliseconds since the Unix epoch: at or after
    /// the time of its last transaction.
    pub time_ms: u64,
    /// `Snapshot::digest` of the state.
    pub digest: u64,
    /// How many keys it has.
    pub objects: u64,
    /// Bytes of all keys and values.
    pub bytes: u64,
    /// What a new cluster with the old credentials needs besides.
    pub credentials: Option<Credentials>,
    pub(crate) parts: Vec<PartInfo>,
}

impl Manifest {
    /// Bytes of its parts as they are stored.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// A part, as a manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartInfo {
    pub(crate) id: PartId,
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
}

/// The secret under which the keys of a cluster's authorities and tokens lie sealed in its state.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials(pub Bytes);

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(..)")
    }
}

/// Transactions in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    pub(crate) after: Revision,
    pub(crate) last: Revision,
    /// The segment before it, and its hash; `None` for the first after a base or a gap.
    pub(crate) previous: Option<(SegmentId, Hash)>,
    /// `Snapshot::digest` of the state at its end, where the server was asked for it.
    pub(crate) digest: Option<u64>,
    pub(crate) batches: Vec<StoredBatch>,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredBatch {
    /// Its revision.
    pub revision: Revision,
    /// When it was proposed, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Who proposed it; see `quorate_store::Txn::origin`.
    pub origin: Bytes,
    /// Each key that it changed, and what it holds then; `None` when it was deleted.
    pub changes: Vec<(Bytes, Option<Entry>)>,
}

impl StoredBatch {
    /// Roughly the bytes of its form.
    pub(crate) fn bytes(&self) -> usize {
        let value =
            |entry: &Option<Entry>| entry.as_ref().map_or(0, |entry| entry.value.len() + 16);
        let changes = self.changes.iter().map(|(key, entry)| key.len() + value(entry) + 8);
        changes.sum::<usize>() + self.origin.len() + 24
    }
}

impl From<&Batch> for StoredBatch {
    fn from(batch: &Batch) -> Self {
        let changes =
            batch.events.iter().map(|event| (event.key.clone(), event.current.clone())).collect();
        let (revision, time_ms, origin) = (batch.revision, batch.time_ms, batch.origin.clone());
        Self { revision, time_ms, origin, changes }
    }
}
