//! Faults of clocks.

use std::time::Duration;

use super::kind::Fault;
use crate::cluster::Cluster;

/// How far a clock jumps at most, milliseconds.
const MAX_JUMP_MS: u64 = 600_000;
/// Most that a drifting clock gains or loses in a second, milliseconds.
const MAX_DRIFT_MS: u64 = 400;
/// Between two steps of timers that go too fast.
const DRIFT_STEP: Duration = Duration::from_millis(50);

/// The wall clock jumps.
pub(super) fn jump(cluster: &Cluster, fault: &Fault) {
    cluster.turn_clock(fault.node, around_zero(fault, MAX_JUMP_MS));
}

/// The wall clock goes wrong from now on. Gives after which times timers go on by how much: they
/// can only be made to go faster.
pub(super) fn drift(
    cluster: &Cluster,
    fault: &Fault,
    length: Duration,
) -> Vec<(Duration, Duration)> {
    let gains = around_zero(fault, MAX_DRIFT_MS);
    cluster.set_drift(fault.node, gains);
    let by = DRIFT_STEP * u32::try_from(gains.max(0)).unwrap_or(0) / 1000;
    let steps = u32::try_from(length.as_millis() / DRIFT_STEP.as_millis()).unwrap_or(0);
    (1..=steps).filter(|_| !by.is_zero()).map(|step| (DRIFT_STEP * step, by)).collect()
}

/// A number that is at most so far from zero, always the same for the same fault.
fn around_zero(fault: &Fault, most: u64) -> i64 {
    i64::try_from(fault.between(0, 2 * most)).unwrap_or(0) - i64::try_from(most).unwrap_or(0)
}
