//! The log watchdog: a leader whose log's disk stands still hands the leadership over.
//!
//! Writes go on without it, since the other members confirm them; but what the leader has not on
//! disk fills its memory, and in the end stops it for as long as the disk takes.
//!
//! Invariants: only consecutive checks that find the same entry waiting count; nothing is handed
//! over unless the others alone have confirmed that entry, so a disk that all members share, or a
//! burst of writes everywhere, causes no election; a member that does not lead does nothing.

use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::WatchReceiver;

use crate::core::{Leader, RaftNode};
use crate::log::Log;
use crate::membership::transfer_leadership;

/// How long the same entry may wait for the leader's disk.
const STALL_LIMIT: Duration = Duration::from_secs(2);
/// Between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Checks in [`STALL_LIMIT`].
const STALL_CHECKS: u128 = STALL_LIMIT.as_millis() / CHECK_INTERVAL.as_millis();

/// Counts checks that find the same entry waiting.
#[derive(Debug, Default)]
struct LogWatchdog {
    waiting: Option<u64>,
    standing: u128,
}

impl LogWatchdog {
    /// Takes in the first entry that waits for the disk. True when it has waited for too long.
    fn check(&mut self, waiting: Option<u64>) -> bool {
        let stands = waiting.is_some() && waiting == self.waiting;
        self.standing = if stands { self.standing + 1 } else { 0 };
        self.waiting = waiting;
        self.standing >= STALL_CHECKS
    }
}

/// Watches the log of this member, for ever.
pub(super) async fn watch_log(raft: Arc<RaftNode>, log: Log) {
    let mut watchdog = LogWatchdog::default();
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let waiting = log.first_waiting().filter(|_| raft.leader() == Leader::Here);
        if !watchdog.check(waiting) || !waiting.is_some_and(|entry| others_have(&raft, entry)) {
            continue;
        }
        tracing::warn!(
            entry = waiting,
            "the log's disk stands still for {STALL_LIMIT:?} and the other members do without it: handing the leadership over"
        );
        match transfer_leadership(&raft, None).await {
            Ok(successor) => tracing::info!(successor, "handed the leadership over"),
            Err(error) => tracing::warn!(%error, "the leadership could not be handed over"),
        }
        watchdog = LogWatchdog::default();
    }
}

/// Whether the other voters are a majority that has this entry.
fn others_have(raft: &RaftNode, entry: u64) -> bool {
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let Some(replication) = &metrics.replication else { return false };
    let voters: Vec<_> = metrics.membership_config.membership().voter_ids().collect();
    let confirmed = |voter: &&u64| {
        let matched = replication.get(*voter).and_then(Option::as_ref);
        **voter != raft.id() && matched.is_some_and(|id| id.index >= entry)
    };
    voters.iter().filter(confirmed).count() * 2 > voters.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether any of these checks finds a stall.
    fn check(waiting: &[Option<u64>], expect: bool) {
        let mut watchdog = LogWatchdog::default();
        let stalls = waiting.iter().filter(|entry| watchdog.check(**entry)).count();
        assert_eq!(stalls > 0, expect, "{waiting:?}");
    }

    #[test]
    fn only_the_same_entry_counts() {
        let times = |entry: Option<u64>, count: u128| vec![entry; usize::try_from(count).unwrap()];
        check(&times(None, 100), false);
        check(&times(Some(7), STALL_CHECKS), false);
        check(&times(Some(7), STALL_CHECKS + 1), true);
        check(&(0..100).map(Some).collect::<Vec<_>>(), false);
        let again = [times(Some(7), STALL_CHECKS), vec![None], times(Some(7), STALL_CHECKS)];
        check(&again.concat(), false);
    }
}
