//! How far a member is in Raft's own terms: for checkers, and for whoever debugs a cluster.

use openraft::async_runtime::WatchReceiver;

use super::core::Core;
use super::handle::Replica;
use crate::types::{LogId, Vote};

/// A member's Raft state at one moment, without its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    /// The newest vote that it has given or seen, which need not be durable yet.
    pub vote: Vote,
    /// Whether it leads by that vote, as far as it knows.
    pub leads: bool,
    /// The last entry of its log, which need not be durable yet.
    pub last: Option<LogId>,
    /// The last entry that it knows to be committed and has.
    pub committed: Option<LogId>,
    /// The last entry that it has applied.
    pub applied: Option<LogId>,
    /// Whether its newest members are committed, as far as it knows, and no change of the voters is half done.
    pub settled: bool,
    /// Whether a snapshot is coming in or being installed.
    pub installing: bool,
    /// How many snapshots have begun to come in since it started.
    pub snapshots: u64,
}

impl Replica {
    /// How far this member is.
    #[must_use]
    pub fn positions(&self) -> Positions {
        self.core().positions()
    }
}

impl Core {
    fn positions(&self) -> Positions {
        let last = self.raft.data_metrics().borrow_watched().last_log;
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        let members = &metrics.membership_config;
        Positions {
            vote: metrics.vote,
            leads: metrics.state.is_leader(),
            last,
            committed: metrics.local_committed,
            applied: metrics.last_applied,
            settled: members.get_joint_config().len() <= 1 && *members.log_id() <= metrics.local_committed,
            installing: self.installs.under_way(),
            snapshots: self.installs.begun(),
        }
    }
}
