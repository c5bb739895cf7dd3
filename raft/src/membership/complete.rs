//! Completion of joint consensus: changes of the voters whose leader died half-way.
//!
//! A change goes through two entries (Raft dissertation, section 4.3): after the first, the old
//! voters and the new ones must confirm everything, each by a majority of their own; the second
//! leaves the new ones alone. The leader that carries the change out appends the second, and may
//! die between the two. Until another leader completes the change, the loss of one member can then
//! cost the quorum.
//!
//! Invariant: only a leader completes a change, and only one that it found applied and unchanged at
//! two checks in a row, so that a change under way completes by itself.

use std::sync::Arc;
use std::time::Duration;

use openraft::ChangeMembers;
use openraft::async_runtime::WatchReceiver;

use super::change::{change, is_joint};
use crate::core::{Leader, RaftNode};
use crate::types::LogId;

/// Between two checks; longer than the second entry of a change takes to follow the first.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Completes changes for as long as the member runs.
pub(crate) async fn complete_changes(raft: Arc<RaftNode>) {
    let mut before = None;
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let found = half_done(&raft);
        if let Some(entry) = found.filter(|_| found == before) {
            complete(&raft, entry).await;
        }
        before = found;
    }
}

/// Whether a change of the voters is under way, as far as this node knows.
pub(crate) fn is_changing_voters(raft: &RaftNode) -> bool {
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    [&metrics.membership_config, &metrics.committed_membership_config]
        .into_iter()
        .any(|members| is_joint(members))
}

/// The first entry of a change whose second one is not in the log, if this node leads and has
/// applied the first: then the client that asked for the change has been answered too.
fn half_done(raft: &RaftNode) -> Option<LogId> {
    if raft.leader() != Leader::Here {
        return None;
    }
    let metrics = raft.openraft().metrics();
    let metrics = metrics.borrow_watched();
    let members = Some(&metrics.membership_config).filter(|members| is_joint(members))?;
    members.log_id().filter(|entry| Some(*entry) <= metrics.last_applied)
}

async fn complete(raft: &RaftNode, entry: LogId) {
    // Adding no voter goes on to the voters that the first half aims at.
    match change(raft, Some(entry), ChangeMembers::AddVoterIds([].into())).await {
        Ok(()) => tracing::info!("a change of the voters that was left half done is complete"),
        Err(error) => {
            tracing::warn!(%error, "a change of the voters is half done and cannot be completed yet")
        }
    }
}
