//! Retention: which part of the history is kept, decided from the batches alone, so that it is the
//! same on every member.
//!
//! Invariants: the decision does not depend on how entries were grouped, on restarts, or on this
//! node's clock; between `oldest` and the newest revision nothing is missing. This file only
//! decides; disk space is freed elsewhere.

use std::collections::VecDeque;

use quorate_store::{Retention, Revision};

/// The retained batches, oldest first, at 8 bytes each.
#[derive(Debug, Clone, Default)]
pub(super) struct RetentionWindow {
    oldest: Revision,
    newest: Revision,
    newest_ms: u64,
    /// Milliseconds from the oldest retained batch to the newest, as the records count them.
    age_ms: u64,
    bytes: u64,
    records: VecDeque<RetainedBatch>,
}

/// One batch. Both numbers saturate: a pause of more than 49 days counts as 49 days.
#[derive(Debug, Clone, Copy)]
struct RetainedBatch {
    since_previous_ms: u32,
    bytes: u32,
}

impl RetentionWindow {
    /// An empty history after `oldest`.
    pub(super) fn starting_after(oldest: Revision) -> Self {
        Self { oldest, newest: oldest, ..Self::default() }
    }

    /// The state at this revision and all later ones is readable, and so are the batches after it.
    pub(super) fn oldest(&self) -> Revision {
        self.oldest
    }

    /// The last revision taken in.
    pub(super) fn newest(&self) -> Revision {
        self.newest
    }

    /// The footprints of all retained batches together.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes in the next revision's batch of this time and footprint.
    pub(super) fn push(&mut self, time_ms: u64, footprint: u64) {
        let since_previous_ms =
            u32::try_from(time_ms.saturating_sub(self.newest_ms)).unwrap_or(u32::MAX);
        let bytes = u32::try_from(footprint).unwrap_or(u32::MAX);
        if !self.records.is_empty() {
            self.age_ms += u64::from(since_previous_ms);
        }
        self.newest = self.newest.next();
        self.newest_ms = time_ms;
        self.bytes += u64::from(bytes);
        self.records.push_back(RetainedBatch { since_previous_ms, bytes });
    }

    /// Drops what `retention` does not cover. To be called after each [`Self::push`] of a running
    /// state machine.
    pub(super) fn trim(&mut self, retention: Retention) {
        while !self.records.is_empty() && retention.drops(0, self.age_ms, self.bytes) {
            let dropped = self.records.pop_front().expect("not empty");
            self.oldest = self.oldest.next();
            self.bytes -= u64::from(dropped.bytes);
            self.age_ms -= self.records.front().map_or(0, |next| u64::from(next.since_previous_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u64, time_of: impl Fn(u64) -> u64, retention: Retention) -> RetentionWindow {
        let mut window = RetentionWindow::default();
        for revision in 1..=count {
            window.push(time_of(revision), 10);
            window.trim(retention);
        }
        window
    }

    #[test]
    fn keeps_exactly_the_time() {
        let window = filled(
            1000,
            |r| 1_700_000_000_000 + r * 100,
            Retention { time_ms: 30_000, bytes: u64::MAX },
        );
        assert_eq!((window.oldest().get(), window.newest().get()), (699, 1000));
    }

    #[test]
    fn keeps_exactly_the_bytes() {
        let window = filled(1000, |_| 5, Retention { time_ms: 1, bytes: 2005 });
        assert_eq!((window.oldest().get(), window.bytes()), (800, 2000));
        let nothing = filled(1000, |_| 5, Retention { time_ms: 1, bytes: 9 });
        assert_eq!((nothing.oldest().get(), nothing.bytes()), (1000, 0));
    }

    #[test]
    fn a_pause_longer_than_the_counter_drops_only_what_is_before_it() {
        let pause = u64::from(u32::MAX) * 3;
        let time_of = |r| if r <= 10 { r } else { r + pause };
        let window = filled(20, time_of, Retention { time_ms: 1000, bytes: u64::MAX });
        assert_eq!(window.oldest().get(), 10);
    }

    #[test]
    fn a_rebuilt_window_decides_the_same() {
        let retention = Retention { time_ms: 1500, bytes: 3000 };
        let time_of = |r| r * r / 50;
        let whole = filled(777, time_of, retention);
        let half = filled(500, time_of, retention);
        let mut rebuilt = RetentionWindow::starting_after(half.oldest());
        for revision in half.oldest().get() + 1..=777 {
            rebuilt.push(time_of(revision), 10);
            if revision > 500 {
                rebuilt.trim(retention);
            }
        }
        assert_eq!(
            (rebuilt.oldest(), rebuilt.bytes(), rebuilt.age_ms),
            (whole.oldest(), whole.bytes(), whole.age_ms)
        );
        assert!(whole.oldest() > half.oldest());
    }
}
