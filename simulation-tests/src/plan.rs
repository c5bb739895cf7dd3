//! The plan of a simulated cluster: its members, its limits and timings, and what is broken in it.
//! It does not change during a run.

use std::sync::Arc;
use std::time::Duration;

use quorate_raft::replica::{Compaction, Timing};
use quorate_store::Retention;

use crate::api::ApiPlan;
use crate::broken::Broken;
use crate::trace::Trace;

/// What a cluster is made of.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Members that vote, from the start; they have the first hosts.
    pub(crate) voters: u64,
    /// Hosts that shall have a member: after the voters come learners.
    pub(crate) nodes: u64,
    /// All hosts.
    pub(crate) hosts: u64,
    pub(crate) compaction: Compaction,
    /// Bytes of a grown segment of the log.
    pub(crate) segment_bytes: u64,
    pub(crate) timing: Timing,
    pub(crate) retention: Retention,
    /// How long syncs of the logs' disks usually take.
    pub(crate) sync: Duration,
    pub(crate) broken: Option<Broken>,
    pub(crate) trace: Trace,
    /// With this, nodes serve the API; else the store, through the gateway.
    pub(crate) api: Option<Arc<ApiPlan>>,
}
