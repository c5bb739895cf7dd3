//! The rounds of a run: faults for a while, then healing until every client is served by every node
//! and all nodes are equal; and again.
//!
//! The driver says when a round begins; clients do their work until its faults end, see that
//! everything is as promised, and wait for the next one. Invariant: a round begins only when all
//! clients have come to rest after the one before.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Longest time that faults go on before the cluster may heal, seconds.
const LONGEST_SECONDS: u64 = 60;
/// Between two looks of a client for the next round.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Where a run is. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    count: u64,
    length: Duration,
    current: Arc<Mutex<Round>>,
}

/// One round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// From 1 on.
    pub(crate) number: u64,
    /// When faults begin.
    pub(crate) from: Duration,
    /// When they end.
    pub(crate) until: Duration,
}

impl Rounds {
    /// Divides so much time of faults into rounds of equal length; the faults of the first begin at
    /// `from`.
    pub(crate) fn new(faults: Duration, from: Duration) -> Self {
        let count = faults.as_secs().div_ceil(LONGEST_SECONDS).max(1);
        let length = faults / u32::try_from(count).unwrap_or(u32::MAX);
        let current = Round { number: 1, from, until: from + length };
        Self { count, length, current: Arc::new(Mutex::new(current)) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The one that it is.
    pub(crate) fn current(&self) -> Round {
        *self.current.lock()
    }

    /// When the faults of this round end.
    pub(crate) fn until(&self) -> Duration {
        self.current().until
    }

    /// Begins the next round, if there is one, with faults from this time on.
    pub(crate) fn begin_next(&self, from: Duration) -> Option<Round> {
        let mut current = self.current.lock();
        if current.number == self.count {
            return None;
        }
        *current = Round { number: current.number + 1, from, until: from + self.length };
        Some(*current)
    }

    /// Waits for the round after this one; `None` when this one is the last.
    pub(crate) async fn after(&self, round: Round) -> Option<Round> {
        if round.number == self.count {
            return None;
        }
        while self.current().number == round.number {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        Some(self.current())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seconds: u64, expect: &[(u64, u64)]) {
        let rounds = Rounds::new(Duration::from_secs(seconds), Duration::from_secs(2));
        let mut found = vec![rounds.current()];
        while let Some(round) = rounds.begin_next(rounds.until() + Duration::from_secs(10)) {
            found.push(round);
        }
        let found: Vec<_> =
            found.iter().map(|round| (round.from.as_secs(), round.until.as_secs())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn rounds_share_the_time_equally() {
        check(8, &[(2, 10)]);
        check(60, &[(2, 62)]);
        check(90, &[(2, 47), (57, 102)]);
        check(180, &[(2, 62), (72, 132), (142, 202)]);
    }
}
