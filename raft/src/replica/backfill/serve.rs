//! The answers to members whose archives lack something: what this member's has.
//!
//! Invariants: one answer is read at a time, and a few wait; an answer has about
//! [`MAX_ANSWER_BYTES`] at most. What is not here is an empty answer and no error.

use std::sync::Arc;

use bytes::Bytes;
use quorate_archive::Inventory;
use quorate_env::blocking;
use quorate_store::PastError;
use tokio::sync::Semaphore;
use tonic::Status;

use super::super::store::ReplicaStore;
use super::message::{ChangesAnswer, ChangesRequest, InventoryRequest};
use crate::network::wire::{decode, encode};

/// Bytes of [`quorate_store::Batch::footprint`] in one answer, which ends with the transaction that
/// reaches them.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Answers that are read at once.
const MAX_READING: usize = 1;
/// Requests that are admitted, those that are being answered included.
const MAX_ADMITTED: usize = 8;

/// Answers from the archive of a member.
pub(in super::super) struct ArchiveService {
    store: Arc<ReplicaStore>,
    admitted: Semaphore,
    reading: Semaphore,
}

impl ArchiveService {
    /// From this store's archive, where it keeps one.
    pub(in super::super) fn new(store: Arc<ReplicaStore>) -> Self {
        let (admitted, reading) = (Semaphore::new(MAX_ADMITTED), Semaphore::new(MAX_READING));
        Self { store, admitted, reading }
    }

    /// What the archive has.
    pub(in super::super) async fn inventory(&self, request: &[u8]) -> Result<Bytes, Status> {
        let InventoryRequest { since_ms } = decode(request)?;
        self.read(|| {
            let archive = self.store.archive.as_ref();
            Ok(encode(&archive.map_or_else(Inventory::default, |kept| kept.inventory(since_ms))))
        })
        .await
    }

    /// Transactions of the archive, or of what is newer.
    pub(in super::super) async fn changes(&self, request: &[u8]) -> Result<Bytes, Status> {
        let ChangesRequest { after, max_bytes } = decode(request)?;
        let max_bytes = usize::try_from(max_bytes.min(MAX_ANSWER_BYTES)).unwrap_or(usize::MAX);
        self.read(|| {
            let past = self.store.archive.as_ref().map(quorate_archive::Archive::past);
            let read = past.map_or(Ok(Vec::new()), |past| past.changes(after, max_bytes));
            match read {
                Ok(batches) => Ok(encode(&ChangesAnswer::of(&batches))),
                Err(error @ PastError::Unreadable) => Err(Status::unavailable(error.to_string())),
                Err(_) => Ok(encode(&ChangesAnswer::default())),
            }
        })
        .await
    }

    async fn read(&self, read: impl FnOnce() -> Result<Bytes, Status>) -> Result<Bytes, Status> {
        let busy = |_| Status::resource_exhausted("too many members ask for the past");
        let _admitted = self.admitted.try_acquire().map_err(busy)?;
        let _reading = self.reading.acquire().await.expect("the semaphore is never closed");
        blocking(read)
    }
}
