//! Completes changes of the voters that were left half done.
//!
//! A change goes through two entries: after the first the old voters and the new ones have to confirm everything, each by a majority of
//! their own; the second leaves the new ones alone. Whoever asked for the change sees to the second, and is gone when the leader dies
//! between the two. Until somebody completes the change, the loss of one member can then cost the quorum.
//!
//! Invariant: only a leader completes, and only what it found applied and unchanged at two looks in a row, so that a change that is
//! under way completes by itself.

use std::time::Duration;

use openraft::ChangeMembers;
use openraft::async_runtime::WatchReceiver;

use crate::replica::core::{Core, Leader};
use crate::types::{LogId, StoredMembership};

/// Between two looks; longer than the second entry of a change takes to follow the first.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Core {
    /// Looks for as long as the member runs.
    pub(crate) async fn complete_changes(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let found = self.half_done();
            if let Some(entry) = found.filter(|_| found == before) {
                self.complete(entry).await;
            }
            before = found;
        }
    }

    /// Whether a change of the voters is under way, as far as this node knows.
    pub(crate) fn is_changing_voters(&self) -> bool {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        [&metrics.membership_config, &metrics.committed_membership_config].into_iter().any(|members| is_joint(members))
    }

    /// The first entry of a change whose second one is not in the log, if this node leads and has applied the first: so has whoever
    /// asked for the change been told of it.
    fn half_done(&self) -> Option<LogId> {
        if self.leader() != Leader::Here {
            return None;
        }
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        let members = Some(&metrics.membership_config).filter(|members| is_joint(members))?;
        members.log_id().filter(|entry| Some(*entry) <= metrics.last_applied)
    }

    async fn complete(&self, entry: LogId) {
        // To add nobody goes on to the voters that the first half aims at.
        match self.change(Some(entry), ChangeMembers::AddVoterIds([].into())).await {
            Ok(()) => tracing::info!("a change of the voters that was left half done is complete"),
            Err(error) => tracing::warn!(%error, "a change of the voters is half done and cannot be completed yet"),
        }
    }
}

/// Whether the old voters and the new ones both count.
pub(super) fn is_joint(members: &StoredMembership) -> bool {
    members.get_joint_config().len() > 1
}
