//! The report of one seed, passed between processes as one line of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The outcome of one seed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    /// Over every byte on the network, its time, and the final state.
    pub(crate) trace: u64,
    pub(crate) traced_bytes: u64,
    pub(crate) simulated_ms: u64,
    /// What clients did and nodes went through, by name.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Faults that happened, by kind and by the state that they met.
    pub(crate) faults: BTreeMap<String, BTreeMap<String, u64>>,
    /// One line each; empty when all is well.
    pub(crate) violations: Vec<String>,
}

impl Report {
    /// Adds the figures of another seed.
    pub(crate) fn add(&mut self, other: &Self) {
        self.simulated_ms += other.simulated_ms;
        self.traced_bytes += other.traced_bytes;
        for (name, count) in &other.counts {
            *self.counts.entry(name.clone()).or_default() += count;
        }
        for (kind, states) in &other.faults {
            let sums = self.faults.entry(kind.clone()).or_default();
            for (state, count) in states {
                *sums.entry(state.clone()).or_default() += count;
            }
        }
    }
}
