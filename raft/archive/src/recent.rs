//! What is newer than the archive: the newest state and the changes that led to it since, as the
//! store serves them.
//!
//! Invariant: the state is taken before the changes are read, and they are read up to it, so both
//! agree.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Event, HistoryError, PastError, Revision, Serving, Snapshot};

/// Bytes of changes that are read at a time.
const READ_BYTES: usize = 8 << 20;
/// Changes of one key that are looked up one by one, before all changes are looked through.
const MAX_CHAIN: usize = 64;

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
        let (chain, reached) = self.chain(key, at)?;
        let mut found = None;
        self.walk_before(at, reached, |batch| {
            found = event_of(batch, key).map(|event| event.previous.clone());
            found.is_none()
        })?;
        let previous = || {
            let oldest = chain.last().and_then(|batch| event_of(batch, key));
            oldest.map(|event| event.previous.clone())
        };
        Ok(found.or_else(previous).unwrap_or_else(|| now.cloned()))
    }

    /// The transactions after such a revision that changed a key, newest first.
    pub(crate) fn changes_of(
        &self,
        key: &[u8],
        after: Revision,
    ) -> Result<Vec<Arc<Batch>>, PastError> {
        let (mut chain, reached) = self.chain(key, after)?;
        let mut older = Vec::new();
        self.walk_before(after, reached, |batch| {
            older.extend(event_of(batch, key).map(|_| Arc::clone(batch)));
            true
        })?;
        chain.extend(older.into_iter().rev());
        Ok(chain)
    }

    /// The newest of them, by what each change says of the one before it, and the revision that they
    /// begin with: what is before that has to be looked through, for the key was absent then, or
    /// has changed too often.
    fn chain(&self, key: &[u8], after: Revision) -> Result<(Vec<Arc<Batch>>, Revision), PastError> {
        let mut found: Vec<Arc<Batch>> = Vec::new();
        let mut made = self.newest.get(key).map(|entry| entry.modified);
        let mut reached = self.revision().next();
        while let Some(revision) = made.filter(|_| found.len() < MAX_CHAIN) {
            if revision <= after {
                return Ok((found, after));
            }
            let batches = self.changes(Revision::new(revision.get() - 1), 1)?;
            let batch = batches.into_iter().next().ok_or(PastError::Unreadable)?;
            let event = event_of(&batch, key).ok_or(PastError::Unreadable)?;
            made = event.previous.as_ref().map(|entry| entry.modified);
            reached = revision;
            found.push(batch);
        }
        Ok((found, reached))
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
        more: impl FnMut(&Arc<Batch>) -> bool,
    ) -> Result<(), PastError> {
        self.walk_before(after, self.revision().next(), more)
    }

    /// The same up to another revision, without that.
    fn walk_before(
        &self,
        after: Revision,
        end: Revision,
        mut more: impl FnMut(&Arc<Batch>) -> bool,
    ) -> Result<(), PastError> {
        let mut reached = after;
        while reached.next() < end {
            let batches = self.changes(reached, READ_BYTES)?;
            reached = batches.last().ok_or(PastError::Unreadable)?.revision;
            if !batches.iter().all(|batch| batch.revision < end && more(batch)) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// What a transaction did to a key.
pub(crate) fn event_of<'a>(batch: &'a Batch, key: &[u8]) -> Option<&'a Event> {
    batch.events.iter().find(|event| event.key == key)
}
