//! openraft's configuration.
//!
//! Invariants, each against a hazard of this version: a restarted leader never goes on leading
//! without an election (it could answer reads from an old state); no member stands for election
//! before its rollback check (`rollback`); elections begin with a pre-vote (Raft dissertation,
//! section 9.6), so that a member that was cut off does not depose a good leader when it comes
//! back.

use std::sync::Arc;
use std::time::Duration;

use openraft::{Config, ConfigError, SnapshotPolicy};

use super::options::{Compaction, Timing};
use crate::cluster::ClusterId;

/// Entries in one append request at most; the log bounds their bytes.
const MAX_APPEND_ENTRIES: u64 = 512;
/// Proposals that wait for Raft's own task.
const API_QUEUE: u64 = 16_384;

/// Checked settings.
pub(super) fn config(
    cluster: ClusterId,
    timing: Timing,
    compaction: Compaction,
) -> Result<Arc<Config>, ConfigError> {
    let config = Config {
        cluster_name: cluster.to_string(),
        heartbeat_interval: millis(timing.heartbeat),
        election_timeout_min: millis(timing.election_min),
        election_timeout_max: millis(timing.election_max),
        max_payload_entries: MAX_APPEND_ENTRIES,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(compaction.every),
        max_in_snapshot_log_to_keep: compaction.keep,
        replication_lag_threshold: compaction.every + compaction.keep,
        api_channel_size: Some(API_QUEUE),
        enable_pre_vote: Some(true),
        enable_elect: false,
        enable_leader_restore: Some(false),
        ..Config::default()
    };
    config.validate().map(Arc::new)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
