//! Retention over time: which history was kept when, to check that each *compacted* answer was
//! true.
//!
//! What is kept follows from the committed batches and the retention alone, and is the same on
//! every member; so for every newest revision there is one oldest readable one.

use std::sync::Arc;
use std::time::Duration;

use quorate_store::{Batch, Retention};

/// Which revisions were kept for each newest revision.
pub(crate) struct KeptHistory {
    /// The revision before the first.
    base: u64,
    /// The oldest readable revision when the newest one is the base and the index; never goes back.
    oldest: Vec<u64>,
    /// From when on which revision may have been committed; both ascending.
    begun: Vec<(Duration, u64)>,
}

impl KeptHistory {
    /// Of a whole history; `asked` says when a client asked for the revision that it was told, for
    /// any number of revisions.
    pub(super) fn new(
        history: &[Arc<Batch>],
        retention: Retention,
        asked: Vec<(Duration, u64)>,
    ) -> Self {
        Self::after(0, history, retention, asked)
    }

    /// The same for a history that begins anew after a revision.
    pub(super) fn after(
        base: u64,
        history: &[Arc<Batch>],
        retention: Retention,
        asked: Vec<(Duration, u64)>,
    ) -> Self {
        let (mut oldest, mut bytes) = (vec![base], 0);
        let mut first = 0;
        for (index, batch) in history.iter().enumerate() {
            bytes += batch.footprint() as u64;
            while first <= index && retention.drops(history[first].time_ms, batch.time_ms, bytes) {
                bytes -= history[first].footprint() as u64;
                first += 1;
            }
            oldest.push(base + first as u64);
        }
        let mut begun = asked;
        begun.sort_unstable();
        let mut least = u64::MAX;
        for (_, revision) in begun.iter_mut().rev() {
            least = least.min(*revision);
            *revision = least;
        }
        Self { base, oldest, begun }
    }

    /// When nothing was ever dropped.
    #[cfg(test)]
    pub(super) fn everything() -> Self {
        Self { base: 0, oldest: vec![0], begun: Vec::new() }
    }

    /// Whether a client that needed everything after a revision could be told *compacted* at this
    /// time, with this oldest revision.
    pub(super) fn check_refusal(
        &self,
        after: u64,
        told: Option<u64>,
        time: Duration,
    ) -> Result<(), String> {
        let newest = self.possible_at(time);
        let oldest = self.oldest[newest];
        if after >= oldest {
            return Err(format!(
                "told that what comes after {after} is not kept, though it is at {newest} and before"
            ));
        }
        match told {
            Some(told) if told <= after || self.oldest[..=newest].binary_search(&told).is_err() => {
                Err(format!(
                    "told that {told} is the oldest revision that is kept, which it never was up to {newest}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// The newest revision that can have been committed by then.
    fn possible_at(&self, time: Duration) -> usize {
        let later = self.begun.partition_point(|(begun, _)| *begun <= time);
        let newest = self.oldest.len() - 1;
        let possible = self.begun.get(later).and_then(|(_, revision)| {
            usize::try_from((*revision - 1).saturating_sub(self.base)).ok()
        });
        possible.map_or(newest, |possible| possible.min(newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Operation, State, Txn};

    #[test]
    fn only_what_was_dropped_may_be_refused() {
        let mut state = State::new();
        let mut write = |time_ms| {
            let operations = vec![Operation::Put { key: "a".into(), value: "1".into() }];
            state.apply(time_ms, &Txn { conditions: vec![], operations, ..Txn::default() }).batch
        };
        // Revisions 1 to 10, a second apart; five seconds are kept.
        let history: Vec<_> = (1..=10).filter_map(|turn| write(turn * 1000)).collect();
        let retention = Retention { time_ms: 5000, bytes: u64::MAX };
        let asked = (1..=10).map(|revision| (Duration::from_secs(revision), revision)).collect();
        let kept = KeptHistory::new(&history, retention, asked);
        let check = |after: u64, told: Option<u64>, second: u64, expect: bool| {
            let found = kept.check_refusal(after, told, Duration::from_millis(second * 1000 + 500));
            assert_eq!(found.is_ok(), expect, "{after} {told:?} {second}: {found:?}");
        };
        check(3, Some(4), 10, true);
        check(3, None, 10, true);
        check(4, None, 10, false);
        check(3, Some(5), 10, false);
        check(3, Some(4), 9, false);
        check(2, Some(3), 9, true);
        check(0, None, 3, false);
        check(0, Some(1), 7, true);
    }
}
