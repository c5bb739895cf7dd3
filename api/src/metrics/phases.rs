//! What is counted of the phases of writes.

use quorate_metrics::{HistogramSeries, Registry};
use quorate_registry::write::{PHASES, PhaseTimes};

/// The metric of phases: a series for each.
#[derive(Debug)]
pub(crate) struct PhaseMetrics([HistogramSeries; PHASES.len()]);

impl PhaseMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let duration = registry.histogram("quorate_write_phase_duration_seconds");
        Self(PHASES.map(|(_, name, _)| duration.with([name])))
    }

    /// A write has ended, whose phases took so long.
    pub(crate) fn ended(&self, times: &PhaseTimes) {
        times.iter().for_each(|(phase, took)| self.0[phase as usize].observe_duration(took));
    }
}
