//! Which kinds of faults met which states of a node: what a run has tried.

use std::collections::BTreeMap;

use quorate_store::Store;
use turmoil::Sim;

use super::kind::Kind;
use crate::cluster::{Cluster, Seat};

/// Counts by kind and state.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    counts: BTreeMap<(Kind, &'static str), u64>,
}

impl Coverage {
    pub(super) fn add(&mut self, kind: Kind, state: &'static str) {
        *self.counts.entry((kind, state)).or_default() += 1;
    }

    /// By name of the kind, and then by state.
    pub(crate) fn table(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut table: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((kind, state), count) in &self.counts {
            table.entry(kind.name()).or_default().insert((*state).to_owned(), *count);
        }
        table
    }
}

/// What the node is to the cluster when a fault begins.
pub(super) fn state(sim: &mut Sim<'_>, cluster: &Cluster, node: Seat) -> &'static str {
    if !cluster.runs(sim, node) {
        return "down";
    }
    let Some(replica) = cluster.replica(node) else { return "starting" };
    let status = replica.status();
    match status.leader {
        Some(leader) if leader == status.node => "leader",
        Some(_) if status.lag > 0 => "behind",
        Some(_) => "follower",
        None => "leaderless",
    }
}
