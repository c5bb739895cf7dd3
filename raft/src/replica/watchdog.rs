//! The apply watchdog: ends the node when committed entries wait and none is applied.
//!
//! A disk can keep a write for ever, and nothing else would say so. After the restart the rest is
//! applied from the log.
//!
//! Invariants: only consecutive checks that find the same entry waiting count, so a process that
//! was suspended for an hour is not taken for one that hangs; a node that waits for its leader or
//! for entries never counts.

use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::WatchReceiver;
use quorate_env::Fatal;
use quorate_store::{Revision, Serving};

use crate::core::RaftNode;
use crate::types::LogId;

/// How long committed entries may wait without any being applied.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Checks in [`STALL_LIMIT`].
const STALL_CHECKS: u64 = STALL_LIMIT.as_secs() / CHECK_INTERVAL.as_secs();

/// How far the node has applied the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ApplyProgress {
    /// One past the last entry that this node knows to be committed.
    committed: u64,
    /// One past the last entry that is applied, as openraft knows: it counts a whole run of entries
    /// at once.
    applied: u64,
    /// The last revision that is served.
    revision: Revision,
}

/// Counts checks without progress.
#[derive(Debug, Default)]
struct Watchdog {
    last: ApplyProgress,
    standing: u64,
}

impl Watchdog {
    /// Takes one check in. True when applying has stood still for too long.
    fn check(&mut self, now: ApplyProgress) -> bool {
        let moves = (now.applied, now.revision) != (self.last.applied, self.last.revision);
        self.standing = if moves || now.applied >= now.committed { 0 } else { self.standing + 1 };
        self.last = now;
        self.standing >= STALL_CHECKS
    }
}

/// Watches until applying stands still, reports that, and ends.
pub(super) async fn watch_applying(raft: Arc<RaftNode>, serving: Serving, fatal: Fatal) {
    let mut watchdog = Watchdog::default();
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let now = apply_progress(&raft, &serving);
        if watchdog.check(now) {
            let ApplyProgress { committed, applied, .. } = now;
            let waiting = committed - applied;
            return fatal.report(format!(
                "no entry of the log was applied in {STALL_LIMIT:?}, and {waiting} wait from entry {applied} on: the state's disk hangs"
            ));
        }
    }
}

fn apply_progress(raft: &RaftNode, serving: &Serving) -> ApplyProgress {
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let next = |id: &Option<LogId>| id.as_ref().map_or(0, |id| id.index + 1);
    let (committed, applied) = (next(&metrics.local_committed), next(&metrics.last_applied));
    ApplyProgress { committed, applied, revision: serving.revision() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these checks it reports a stall; each is repeated as often as its first
    /// number says.
    fn check(checks: &[(u64, u64, u64, u64)], expect: Option<u64>) {
        let mut watchdog = Watchdog::default();
        let checks = checks.iter().flat_map(|&(times, committed, applied, revision)| {
            let progress = ApplyProgress { committed, applied, revision: Revision::new(revision) };
            std::iter::repeat_n(progress, usize::try_from(times).unwrap())
        });
        let reported =
            checks.enumerate().find(|(_, check)| watchdog.check(*check)).map(|(at, _)| at as u64);
        assert_eq!(reported, expect);
    }

    #[test]
    fn only_waiting_entries_that_nothing_happens_to_count() {
        check(&[(1000, 50, 50, 40)], None);
        check(&[(1, 50, 50, 40), (1000, 60, 50, 40)], Some(STALL_CHECKS));
        check(
            &[(STALL_CHECKS, 60, 50, 40), (STALL_CHECKS, 60, 50, 41), (STALL_CHECKS, 60, 51, 41)],
            None,
        );
        check(&[(STALL_CHECKS, 60, 50, 40), (2, 60, 60, 50), (STALL_CHECKS - 1, 70, 60, 50)], None);
        check(&[(20, 60, 50, 40), (20, 70, 50, 40)], Some(STALL_CHECKS));
    }
}
