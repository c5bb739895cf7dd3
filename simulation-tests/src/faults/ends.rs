//! Why a node may end by itself: a disk that fails is the end of the process, and so is the news
//! that it was removed. What has ended is started again.

use std::io;
use std::time::Duration;

use rand::Rng;
use turmoil::Sim;

use super::{Faults, MAX_FAULT_MS, Step, coverage};
use crate::cluster::Cluster;
use crate::topology::HostId;

/// Words of the reasons that a fault explains.
const ACCEPTED_ENDS: [&str; 5] = [
    coverage::SYNC_FAILURE,
    coverage::STATE_FAILURE,
    coverage::NO_SPACE,
    "lost power",
    "empty its data folder and let it join again",
];
/// What a member says whose disk is an older copy.
const OLDER_COPY: &str = "is an older copy";

/// Whether a fault explains the end.
pub(super) fn is_accepted(reason: &str) -> bool {
    ACCEPTED_ENDS.iter().any(|accepted| reason.contains(accepted))
}

/// Whether the member found that its disk is an older copy.
pub(super) fn is_older_copy(reason: &str) -> bool {
    reason.contains(OLDER_COPY)
}

impl Faults {
    /// Ends what has lost power during a call, and plans the restart of what has ended by itself.
    pub(super) fn look_after(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        node: HostId,
    ) -> io::Result<()> {
        if cluster.disk(node).crashed() {
            let seed = self.power_cuts.remove(&node).unwrap_or_default();
            cluster.cut_power(sim, node, seed);
            cluster.forget_end(node);
            self.restart_later(sim, node);
            return Ok(());
        }
        let Some(reason) = cluster.ended(node) else {
            return Ok(());
        };
        let older = is_older_copy(&reason);
        if cluster.quarantined(node) && reason.starts_with("cannot start: ")
            || older && cluster.went_back(node)
        {
            tracing::info!(node, reason, "refused to start");
            *if older { &mut self.copies_refused } else { &mut self.refusals } += 1;
            cluster.forget_end(node);
            return Ok(());
        }
        if older || !is_accepted(&reason) {
            let violation = format!("node {node} ended by itself: {reason}");
            if !self.violations.contains(&violation) {
                self.violations.push(violation);
            }
        }
        tracing::info!(node, reason, "ended");
        // Half the time the machine reboots, and loses its cache; half the time only the process
        // starts again.
        if self.rng.random() {
            cluster.cut_power(sim, node, self.rng.random());
        } else {
            cluster.kill(sim, node);
        }
        cluster.forget_end(node);
        self.restart_later(sim, node);
        Ok(())
    }

    fn restart_later(&mut self, sim: &Sim<'_>, node: HostId) {
        let down = Duration::from_millis(self.rng.random_range(1..=MAX_FAULT_MS));
        self.later(sim.elapsed() + down, Step::Restart(node));
    }
}
