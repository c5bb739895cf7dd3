//! Past states: the store at older revisions, made by undoing the changes since then.
//!
//! Invariants: the state at a revision never changes, so a remembered one stays right whatever is
//! published meanwhile; one that is older than the history allows is refused even when remembered,
//! so that every node gives the same answer.

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use parking_lot::Mutex;

use super::source::Source;
use crate::snapshot::Objects;
use crate::state::footprint;
use crate::{Batch, HistoryError, Revision, Snapshot};
use quorate_env::blocking;

/// Bytes of history read at a time while undoing.
const UNDO_READ_BYTES: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct PastSnapshots {
    /// How many older states are remembered.
    limit: usize,
    /// Most recently used last.
    remembered: Mutex<VecDeque<Snapshot>>,
    /// Held while undoing, so that many readers of one revision do the work once.
    undoing: Mutex<()>,
}

impl PastSnapshots {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, remembered: Mutex::default(), undoing: Mutex::default() }
    }

    pub(super) fn at(&self, at: Revision, source: &Source) -> Result<Snapshot, HistoryError> {
        let newest = source.view().snapshot.clone();
        let applied = newest.revision();
        if at > applied {
            return Err(HistoryError::Future { at, applied });
        }
        let oldest = source.history.oldest();
        if at < oldest {
            return Err(HistoryError::Compacted { oldest });
        }
        if at == applied {
            return Ok(newest);
        }
        if let Some(snapshot) = self.recall(at) {
            return Ok(snapshot);
        }
        blocking(|| self.undo_once(at, newest, source))
    }

    /// May read gigabytes of history, and wait for another reader that does.
    fn undo_once(
        &self,
        at: Revision,
        newest: Snapshot,
        source: &Source,
    ) -> Result<Snapshot, HistoryError> {
        let oldest = source.history.oldest();
        let _one_at_a_time = self.undoing.lock();
        if let Some(snapshot) = self.recall(at) {
            return Ok(snapshot);
        }
        let base = self.nearest(at).unwrap_or(newest);
        let snapshot = undo(&base, at, source)?;
        self.remember(snapshot.clone(), oldest);
        Ok(snapshot)
    }

    pub(super) fn clear(&self) {
        self.remembered.lock().clear();
    }

    fn recall(&self, at: Revision) -> Option<Snapshot> {
        let mut remembered = self.remembered.lock();
        let index = remembered.iter().position(|snapshot| snapshot.revision() == at)?;
        let snapshot = remembered.remove(index)?;
        remembered.push_back(snapshot.clone());
        Some(snapshot)
    }

    fn nearest(&self, at: Revision) -> Option<Snapshot> {
        let remembered = self.remembered.lock();
        remembered
            .iter()
            .filter(|snapshot| snapshot.revision() > at)
            .min_by_key(|snapshot| snapshot.revision())
            .cloned()
    }

    fn remember(&self, snapshot: Snapshot, oldest: Revision) {
        let mut remembered = self.remembered.lock();
        remembered.retain(|other| other.revision() >= oldest);
        remembered.push_back(snapshot);
        if remembered.len() > self.limit {
            remembered.pop_front();
        }
    }
}

/// The state as it was at `at`: the first change of each key since then has what the key held.
fn undo(base: &Snapshot, at: Revision, source: &Source) -> Result<Snapshot, HistoryError> {
    let mut past =
        Undone { objects: base.objects().clone(), size: base.size(), restored: HashSet::new() };
    let mut reached = at;
    while reached < base.revision() {
        let ring = source.view().ring.clone();
        if ring.holds(reached.next()) {
            let batches =
                ring.from(reached.next()).take_while(|batch| batch.revision <= base.revision());
            batches.for_each(|batch| past.restore(batch));
            reached = base.revision();
        } else {
            let batches = source.read_history(reached, UNDO_READ_BYTES)?;
            let batches = batches.iter().take_while(|batch| batch.revision <= base.revision());
            batches.for_each(|batch| {
                past.restore(batch);
                reached = batch.revision;
            });
        }
    }
    Ok(Snapshot::new(at, past.size, past.objects))
}

/// A state on its way back.
struct Undone {
    objects: Objects,
    size: u64,
    /// The keys that hold again what they held.
    restored: HashSet<Bytes>,
}

impl Undone {
    fn restore(&mut self, batch: &Batch) {
        for event in batch.events.iter().filter(|event| self.restored.insert(event.key.clone())) {
            let undone = match &event.previous {
                Some(previous) => {
                    self.size += footprint(&event.key, previous);
                    self.objects.insert(event.key.clone(), previous.clone())
                }
                None => self.objects.remove(&event.key),
            };
            self.size -= undone.map_or(0, |entry| footprint(&event.key, &entry));
        }
    }
}
