//! Which kinds of faults met which states of a node: what a run has tried.
//!
//! Invariants: a fault counts once, and not when whom it is about is down as it begins. What a disk
//! was told to do later counts when it has done it, as far as that shows: a failed sync or a full
//! disk by the end of the process, so not where a broken variant hides it, nor when only a segment
//! could not be made ahead. Whether a message or a sync met a fault of a link, a clock or a slow
//! disk is not known: those count when they begin.

use std::collections::{BTreeMap, BTreeSet};

use quorate_store::Store;

use super::kind::{Fault, FaultKind};
use crate::cluster::Cluster;
use crate::topology::HostId;

/// What a member says whose sync has failed.
pub(super) const SYNC_FAILURE: &str = "simulated sync failure";
/// What a member says whose state could not be synced.
pub(super) const STATE_FAILURE: &str = "Input/output error";
/// What a member says whose disk is full.
pub(super) const NO_SPACE: &str = "no storage space";

/// What is met by faults that are not about one node.
const ALL_NODES: &str = "cluster";

/// Counts by kind and state.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    counts: BTreeMap<(FaultKind, &'static str), u64>,
    /// What disks were told and may not have done yet, and the state of their nodes when they were.
    armed: BTreeMap<(HostId, FaultKind), &'static str>,
}

impl Coverage {
    pub(super) fn add(&mut self, kind: FaultKind, state: &'static str) {
        *self.counts.entry((kind, state)).or_default() += 1;
    }

    /// A fault is about to begin, while these nodes run.
    pub(super) fn begin(&mut self, cluster: &Cluster, running: &BTreeSet<HostId>, fault: &Fault) {
        if !has_effect(running, fault) {
            return;
        }
        let (kind, node) = (fault.kind, fault.node);
        match kind {
            FaultKind::PowerCutInCall
            | FaultKind::FailedSync
            | FaultKind::FailedStateSync
            | FaultKind::FullDisk => {
                self.armed.insert((node, kind), state(cluster, node));
            }
            FaultKind::Split
            | FaultKind::VanishedClient
            | FaultKind::PowerCutAll
            | FaultKind::RollingRestart => self.add(kind, ALL_NODES),
            _ => self.add(kind, state(cluster, node)),
        }
    }

    /// Counts what disks have done since the last look.
    pub(super) fn look(&mut self, cluster: &Cluster) {
        let counts = &mut self.counts;
        self.armed.retain(|(node, kind), state| {
            let done = is_done(cluster, *node, *kind);
            if done {
                *counts.entry((*kind, *state)).or_default() += 1;
            }
            !done
        });
    }

    /// A disk need not do this any more.
    pub(super) fn disarm(&mut self, node: HostId, kind: FaultKind) {
        self.armed.remove(&(node, kind));
    }

    /// No disk need do anything any more.
    pub(super) fn disarm_all(&mut self) {
        self.armed.clear();
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

/// What a node that runs is to the cluster.
pub(super) fn state(cluster: &Cluster, node: HostId) -> &'static str {
    let Some(replica) = cluster.replica(node) else {
        return "starting";
    };
    let status = replica.status();
    match status.leader {
        Some(leader) if leader == status.node => "leader",
        Some(_) if status.lag > 0 => "behind",
        Some(_) => "follower",
        None => "leaderless",
    }
}

/// Whether a fault that begins while these nodes run does something to one of them: at both ends of
/// a link there has to be one.
fn has_effect(running: &BTreeSet<HostId>, fault: &Fault) -> bool {
    let runs = running.contains(&fault.node);
    match fault.kind {
        FaultKind::OneWayCut
        | FaultKind::PartialCut
        | FaultKind::Delay
        | FaultKind::Loss
        | FaultKind::ClogLink
        | FaultKind::SwappedArchives => runs && running.contains(&fault.other),
        FaultKind::IsolatedNode
        | FaultKind::DeafNode
        | FaultKind::MuteNode
        | FaultKind::FlappingNode
        | FaultKind::ClogNode => runs && running.len() > 1,
        FaultKind::Split => !running.is_disjoint(&fault.group) && !running.is_subset(&fault.group),
        FaultKind::VanishedClient | FaultKind::PowerCutAll | FaultKind::RollingRestart => {
            !running.is_empty()
        }
        // It waits for a snapshot, and counts when there is one.
        FaultKind::CrashInInstall => false,
        FaultKind::Pause
        | FaultKind::Kill
        | FaultKind::PowerCut
        | FaultKind::PowerCutInCall
        | FaultKind::FailedSync
        | FaultKind::FailedStateSync
        | FaultKind::SlowSync
        | FaultKind::FullDisk
        | FaultKind::ClockJump
        | FaultKind::ClockDrift
        | FaultKind::LostArchive
        | FaultKind::DecayedArchive
        | FaultKind::FullArchive => runs,
    }
}

/// Whether the disk of this node has just done what it was told.
fn is_done(cluster: &Cluster, node: HostId, kind: FaultKind) -> bool {
    let ended = |why: &str| cluster.ended(node).is_some_and(|reason| reason.contains(why));
    match kind {
        FaultKind::FailedSync => ended(SYNC_FAILURE),
        FaultKind::FailedStateSync => ended(STATE_FAILURE),
        FaultKind::FullDisk => ended(NO_SPACE),
        // There is but one more that waits: the power goes in a call.
        _ => cluster.disk(node).crashed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault of nodes 1 and 2, the first of which is alone in its group.
    fn check(kind: FaultKind, running: &[HostId], expect: bool) {
        let fault = Fault { kind, node: 1, other: 2, seed: 0, group: BTreeSet::from([1]) };
        let running: BTreeSet<HostId> = running.iter().copied().collect();
        assert_eq!(has_effect(&running, &fault), expect, "{kind:?} while {running:?} run");
    }

    #[test]
    fn a_fault_of_a_node_needs_that_it_runs() {
        for kind in [
            FaultKind::Kill,
            FaultKind::Pause,
            FaultKind::SlowSync,
            FaultKind::FullDisk,
            FaultKind::ClockJump,
            FaultKind::ClockDrift,
        ] {
            check(kind, &[1], true);
            check(kind, &[2, 3], false);
        }
    }

    #[test]
    fn a_fault_of_links_needs_a_node_at_both_ends() {
        for kind in [
            FaultKind::OneWayCut,
            FaultKind::PartialCut,
            FaultKind::Delay,
            FaultKind::Loss,
            FaultKind::ClogLink,
        ] {
            check(kind, &[1, 2], true);
            check(kind, &[1, 3], false);
            check(kind, &[2, 3], false);
        }
        for kind in [
            FaultKind::IsolatedNode,
            FaultKind::DeafNode,
            FaultKind::MuteNode,
            FaultKind::FlappingNode,
            FaultKind::ClogNode,
        ] {
            check(kind, &[1, 3], true);
            check(kind, &[1], false);
            check(kind, &[2, 3], false);
        }
    }

    #[test]
    fn a_split_needs_a_node_on_both_sides() {
        check(FaultKind::Split, &[1, 3], true);
        check(FaultKind::Split, &[1], false);
        check(FaultKind::Split, &[2, 3], false);
    }
}
