//! A member's Raft state at one moment, for checkers and for debugging a cluster. The log is not
//! part of it.

use openraft::async_runtime::WatchReceiver;

use super::snapshot_installs::SnapshotInstalls;
use crate::core::RaftNode;
use crate::types::{LogId, Vote};

/// How far a member is, in Raft's own terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    /// The newest vote that it has cast or seen, which need not be durable yet.
    pub vote: Vote,
    /// Whether it leads by that vote, as far as it knows.
    pub leads: bool,
    /// The last entry of its log, which need not be durable yet.
    pub last: Option<LogId>,
    /// The last entry that it knows to be committed and has.
    pub committed: Option<LogId>,
    /// The last entry that it has applied.
    pub applied: Option<LogId>,
    /// Whether its newest members are committed, as far as it knows, and no change of the voters is
    /// half done.
    pub settled: bool,
    /// Whether a snapshot is being received or installed.
    pub installing: bool,
    /// How many snapshots have begun to arrive since it started.
    pub snapshots: u64,
}

impl Positions {
    /// The positions of this member now.
    pub(super) fn of(raft: &RaftNode, installs: &SnapshotInstalls) -> Self {
        let last = raft.openraft().data_metrics().borrow_watched().last_log;
        let metrics = raft.openraft().metrics();
        let metrics = metrics.borrow_watched();
        let members = &metrics.membership_config;
        Self {
            vote: metrics.vote,
            leads: metrics.state.is_leader(),
            last,
            committed: metrics.local_committed,
            applied: metrics.last_applied,
            settled: members.get_joint_config().len() <= 1
                && *members.log_id() <= metrics.local_committed,
            installing: installs.under_way(),
            snapshots: installs.begun(),
        }
    }
}
