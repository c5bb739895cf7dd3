//! What is newer than the archive: the newest state and the changes that led to it since, as the
//! store serves them.
//!
//! Invariant: the state is taken before the changes are read, and they are read up to it, so both
//! agree.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, HistoryError, PastError, Revision, Serving, Snapshot};

/// Bytes of changes that are read at a time.
const READ_BYTES: usize = 8 << 20;

/// The newest state, and the way to the changes before it.
pub(crate) struct Recent {
    pub(crate) newest: Snapshot,
    serving: Serving,
}

impl Recent {
    /// As it is now.
    pub(crate) fn now(serving: &Serving) -> Self {
        Self { newest: serving.snapshot(), serving: serving.clone() }
    }

    /// The newest revision.
    pub(crate) fn revision(&self) -> Revision {
        self.newest.revision()
    }

    /// What the key held at a revision that the archive does not go beyond.
    pub(crate) fn get(&self, key: &[u8], at: Revision) -> Result<Option<Entry>, PastError> {
        let now = self.newest.get(key);
        if let Some(entry) = now.filter(|entry| entry.modified <= at) {
            return Ok(Some(entry.clone()));
        }
        let mut found = None;
        self.walk(at, |batch| {
            let event = batch.events.iter().find(|event| event.key == key);
            found = event.map(|event| event.previous.clone());
            found.is_none()
        })?;
        Ok(found.unwrap_or_else(|| now.cloned()))
    }

    /// What the keys with this prefix held at such a revision that have changed since.
    pub(crate) fn changed(
        &self,
        prefix: &[u8],
        at: Revision,
    ) -> Result<BTreeMap<Bytes, Option<Entry>>, PastError> {
        let mut changed = BTreeMap::new();
        self.walk(at, |batch| {
            for event in batch.events.iter().filter(|event| event.key.starts_with(prefix)) {
                changed.entry(event.key.clone()).or_insert_with(|| event.previous.clone());
            }
            true
        })?;
        Ok(changed)
    }

    /// The changes after a revision, about so many bytes.
    pub(crate) fn changes(
        &self,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, PastError> {
        if after >= self.revision() {
            return Ok(Vec::new());
        }
        let mut batches = self.serving.changes(after, max_bytes).map_err(|error| match error {
            HistoryError::Compacted { oldest } => {
                PastError::Missing { gap: quorate_store::Gap { after, last: oldest } }
            }
            HistoryError::Future { at, applied } => PastError::Future { at, applied },
            HistoryError::Unreadable => PastError::Unreadable,
        })?;
        batches.truncate(batches.partition_point(|batch| batch.revision <= self.revision()));
        Ok(batches)
    }

    /// Shows the changes after a revision in their order, until `more` says that it has seen enough.
    pub(crate) fn walk(
        &self,
        after: Revision,
        mut more: impl FnMut(&Arc<Batch>) -> bool,
    ) -> Result<(), PastError> {
        let mut reached = after;
        while reached < self.revision() {
            let batches = self.changes(reached, READ_BYTES)?;
            reached = batches.last().ok_or(PastError::Unreadable)?.revision;
            if !batches.iter().all(&mut more) {
                return Ok(());
            }
        }
        Ok(())
    }
}
