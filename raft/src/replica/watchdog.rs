//! Notices that applying stands still: a disk can keep a write for ever, and nothing else would say so. The node then ends, and a restart applies what is left.
//!
//! Invariants: only looks that find the same entry waiting count, one after the other, so a process that was stopped for an hour is not
//! taken for one that hangs; a node that waits for its leader or for entries never counts.

use std::time::Duration;

use openraft::async_runtime::WatchReceiver;
use quorate_env::Fatal;
use quorate_store::Revision;

use super::core::Core;

/// How long committed entries may wait without any being applied.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks in [`STALL_LIMIT`].
const STALL_LOOKS: u64 = STALL_LIMIT.as_secs() / LOOK_EVERY.as_secs();

/// How far applying is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ApplyProgress {
    /// One past the last entry that this node knows to be committed.
    committed: u64,
    /// One past the last entry that is applied, as Raft knows: it hears of a whole run of entries at once.
    applied: u64,
    /// The last revision that is served.
    revision: Revision,
}

/// Counts looks without progress.
#[derive(Debug, Default)]
struct Watchdog {
    last: ApplyProgress,
    standing: u64,
}

impl Watchdog {
    /// Takes a look in. True when applying has stood still for too long.
    fn look(&mut self, now: ApplyProgress) -> bool {
        let moves = (now.applied, now.revision) != (self.last.applied, self.last.revision);
        self.standing = if moves || now.applied >= now.committed { 0 } else { self.standing + 1 };
        self.last = now;
        self.standing >= STALL_LOOKS
    }
}

impl Core {
    /// Watches until applying stands still, reports that, and ends.
    pub(super) async fn watch_applying(&self, fatal: Fatal) {
        let mut watchdog = Watchdog::default();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.apply_progress();
            if watchdog.look(now) {
                let ApplyProgress { committed, applied, .. } = now;
                let waiting = committed - applied;
                return fatal.report(format!(
                    "no entry of the log was applied in {STALL_LIMIT:?}, and {waiting} wait from entry {applied} on: the state's disk hangs"
                ));
            }
        }
    }

    fn apply_progress(&self) -> ApplyProgress {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        let next = |id: &Option<crate::types::LogId>| id.as_ref().map_or(0, |id| id.index + 1);
        let (committed, applied) = (next(&metrics.local_committed), next(&metrics.last_applied));
        ApplyProgress { committed, applied, revision: self.serving.revision() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these looks it barks; each is repeated as often as said.
    fn check(looks: &[(u64, u64, u64, u64)], expect: Option<u64>) {
        let mut watchdog = Watchdog::default();
        let looks = looks.iter().flat_map(|&(times, committed, applied, revision)| {
            let progress = ApplyProgress { committed, applied, revision: Revision::new(revision) };
            std::iter::repeat_n(progress, usize::try_from(times).unwrap())
        });
        let barked = looks.enumerate().find(|(_, look)| watchdog.look(*look)).map(|(at, _)| at as u64);
        assert_eq!(barked, expect);
    }

    #[test]
    fn only_waiting_entries_that_nothing_happens_to_count() {
        check(&[(1000, 50, 50, 40)], None);
        check(&[(1, 50, 50, 40), (1000, 60, 50, 40)], Some(STALL_LOOKS));
        check(&[(STALL_LOOKS, 60, 50, 40), (STALL_LOOKS, 60, 50, 41), (STALL_LOOKS, 60, 51, 41)], None);
        check(&[(STALL_LOOKS, 60, 50, 40), (2, 60, 60, 50), (STALL_LOOKS - 1, 70, 60, 50)], None);
        check(&[(20, 60, 50, 40), (20, 70, 50, 40)], Some(STALL_LOOKS));
    }
}
