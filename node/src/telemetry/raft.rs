//! Metrics of Raft: what the replica of this node knows of itself and of its cluster.

use std::sync::Arc;
use std::time::Duration;

use quorate_metrics::{CounterSeries, HistogramSeries, Registry};
use quorate_raft::log::LogObserver;
use quorate_raft::{Replica, Role};
use quorate_store::{Status, Store};

/// The roles of members, and their names.
const ROLES: [(Role, &str); 3] =
    [(Role::Leader, "leader"), (Role::Voter, "voter"), (Role::Learner, "learner")];

/// Observes the replica.
pub(crate) fn observe(registry: &Registry, replica: &Replica) {
    let index = |name: &str, value: fn(&Replica) -> Option<u64>| {
        let replica = replica.clone();
        registry.observe(name, move |to| to.add_count(&[], value(&replica).unwrap_or_default()));
    };
    index("quorate_raft_committed_index", |replica| Some(replica.positions().committed?.index));
    index("quorate_raft_applied_index", |replica| Some(replica.positions().applied?.index));
    index("quorate_raft_snapshots_received_total", |replica| Some(replica.positions().snapshots));
    let status = |name: &str, value: fn(&Status) -> u64| {
        let replica = replica.clone();
        registry.observe(name, move |to| to.add_count(&[], value(&replica.status())));
    };
    status("quorate_raft_term", |status| status.term);
    status("quorate_raft_lag_entries", |status| status.lag);
    status("quorate_raft_has_leader", |status| u64::from(status.leader.is_some()));
    status("quorate_raft_is_leader", |status| u64::from(status.leader == Some(status.node)));
    let replica = replica.clone();
    registry.observe("quorate_raft_members", move |to| {
        let members = replica.members();
        for (role, name) in ROLES {
            let count = members.iter().filter(|member| member.role == role).count();
            to.add_count(&[name], count as u64);
        }
    });
}

/// Counts changes of the leader, for ever.
pub(crate) async fn count_leaders(changes: CounterSeries, replica: Replica) {
    let mut last = None;
    loop {
        let status = replica.status();
        let now = status.leader.map(|leader| (leader, status.term));
        if let Some(leader) = now.filter(|_| now != last) {
            if last.is_some() {
                changes.inc();
            }
            last = Some(leader);
        }
        replica.leadership_changed().await;
    }
}

/// The syncs of the log.
#[derive(Debug)]
pub(crate) struct LogSyncs {
    duration: HistogramSeries,
    entries: HistogramSeries,
}

impl LogSyncs {
    /// Nothing synced yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        Arc::new(Self {
            duration: registry.histogram("quorate_raft_log_fsync_duration_seconds").with([]),
            entries: registry.histogram("quorate_raft_log_write_entries").with([]),
        })
    }
}

impl LogObserver for LogSyncs {
    fn synced(&self, entries: usize, took: Duration) {
        self.duration.observe_duration(took);
        self.entries.observe(f64::from(u32::try_from(entries).unwrap_or(u32::MAX)));
    }
}
