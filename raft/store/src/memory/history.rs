//! The history of the memory store, bounded by [`Retention`].
//!
//! Invariant: contiguous; `oldest` is the newest batch that was dropped, or where the history
//! began.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Batch, History, HistoryError, Retention, Revision};

#[derive(Debug)]
pub(super) struct MemoryHistory {
    retention: Retention,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    oldest: Revision,
    batches: VecDeque<Arc<Batch>>,
    bytes: u64,
}

impl MemoryHistory {
    pub(super) fn new(retention: Retention) -> Self {
        Self { retention, kept: Mutex::default() }
    }

    /// Appends the newest batch and drops what is no longer kept: at least the newest stays.
    pub(super) fn push(&self, batch: Arc<Batch>) {
        let mut kept = self.kept.lock();
        let newest_ms = batch.time_ms;
        kept.bytes += batch.footprint() as u64;
        kept.batches.push_back(batch);
        while kept.batches.len() > 1 {
            let oldest = Arc::clone(&kept.batches[0]);
            if !self.retention.drops(oldest.time_ms, newest_ms, kept.bytes) {
                break;
            }
            kept.batches.pop_front();
            kept.bytes -= oldest.footprint() as u64;
            kept.oldest = oldest.revision;
        }
    }
}

impl History for MemoryHistory {
    fn oldest(&self) -> Revision {
        self.kept.lock().oldest
    }

    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let kept = self.kept.lock();
        let Some(skip) = after.get().checked_sub(kept.oldest.get()) else {
            return Err(HistoryError::Compacted { oldest: kept.oldest });
        };
        let mut bytes = 0;
        let within = |batch: &&Arc<Batch>| {
            let first_or_fits = bytes < max_bytes;
            bytes += batch.footprint();
            first_or_fits
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Ok(kept.batches.iter().skip(skip).take_while(within).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(revision: u64, time_ms: u64) -> Arc<Batch> {
        Arc::new(Batch {
            revision: Revision::new(revision),
            time_ms,
            events: Arc::new([]),
            origin: bytes::Bytes::new(),
        })
    }

    fn read(
        history: &MemoryHistory,
        after: u64,
        max_bytes: usize,
    ) -> Result<Vec<u64>, HistoryError> {
        let batches = history.read(Revision::new(after), max_bytes)?;
        Ok(batches.iter().map(|batch| batch.revision.get()).collect())
    }

    #[test]
    fn drops_by_time() {
        let history = MemoryHistory::new(Retention { time_ms: 100, bytes: u64::MAX });
        for (revision, time_ms) in [(1, 1000), (2, 1050), (3, 1100), (4, 1101)] {
            history.push(batch(revision, time_ms));
        }
        assert_eq!(history.oldest(), Revision::new(1));
        assert_eq!(
            read(&history, 0, 9999),
            Err(HistoryError::Compacted { oldest: Revision::new(1) })
        );
        assert_eq!(read(&history, 1, 9999), Ok(vec![2, 3, 4]));
        assert_eq!(read(&history, 4, 9999), Ok(vec![]));
        history.push(batch(5, 9000));
        assert_eq!((history.oldest(), read(&history, 4, 9999)), (Revision::new(4), Ok(vec![5])));
    }

    #[test]
    fn drops_by_bytes_and_reads_in_chunks() {
        let each = batch(1, 0).footprint();
        let history = MemoryHistory::new(Retention { time_ms: 100, bytes: 3 * each as u64 });
        (1..=10).for_each(|revision| history.push(batch(revision, 0)));
        assert_eq!(history.oldest(), Revision::new(7));
        assert_eq!(read(&history, 7, 2 * each), Ok(vec![8, 9]));
        assert_eq!(read(&history, 9, 1), Ok(vec![10]));
        assert_eq!(read(&history, 7, usize::MAX), Ok(vec![8, 9, 10]));
    }
}
