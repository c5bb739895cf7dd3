//! The plan of a run's faults: what they are drawn from.

use std::time::Duration;

use super::kind::FaultKind;

/// What the faults of a run are drawn from.
pub(crate) struct FaultPlan {
    pub(crate) seed: u64,
    /// Nodes that faults are about.
    pub(crate) nodes: u64,
    /// Hosts of clients.
    pub(crate) clients: Vec<String>,
    /// The usual longest latency of a message.
    pub(crate) latency: Duration,
    /// Only these kinds; all when empty.
    pub(crate) only: Vec<FaultKind>,
}
