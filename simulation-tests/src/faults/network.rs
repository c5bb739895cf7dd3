//! Faults of links: cutting, holding, slowing and losing, and putting everything right again.
//!
//! Invariant: a link that is mended is as at the start, whatever went on on it.

use std::time::Duration;

use turmoil::Sim;

use super::kind::{Fault, FaultKind};
use crate::cluster::Cluster;
use crate::topology::{HostId, host_name};

/// What is usual on the links, and who else is on them.
#[derive(Debug)]
pub(super) struct Usual {
    /// Hosts of clients.
    pub(super) clients: Vec<String>,
    /// The longest latency of a message.
    pub(super) latency: Duration,
}

/// Longest time between the first and the last link of a clogged node that are free again,
/// milliseconds.
const MAX_STAGGER_MS: u64 = 12;

/// Begins a fault of links. False when it is none.
pub(super) fn begin(sim: &mut Sim<'_>, cluster: &Cluster, usual: &Usual, fault: &Fault) -> bool {
    let (node, other) = (host_name(fault.node), host_name(fault.other));
    match fault.kind {
        FaultKind::IsolatedNode => isolate(sim, cluster, fault.node),
        FaultKind::OneWayCut => sim.partition_oneway(node, other),
        FaultKind::PartialCut => sim.partition(node, other),
        FaultKind::DeafNode => others(cluster, fault.node)
            .for_each(|other| sim.partition_oneway(host_name(other), host_name(fault.node))),
        FaultKind::MuteNode => others(cluster, fault.node)
            .for_each(|other| sim.partition_oneway(host_name(fault.node), host_name(other))),
        FaultKind::Split => across(cluster, fault)
            .for_each(|(one, other)| sim.partition(host_name(one), host_name(other))),
        FaultKind::Delay => {
            sim.set_link_max_message_latency(
                node,
                other,
                Duration::from_millis(fault.between(20, 400)),
            );
        }
        FaultKind::Loss => {
            sim.set_link_fail_rate(node, other, fault.between(1, 30) as f64 / 1000.0)
        }
        FaultKind::ClogLink => sim.hold(node, other),
        FaultKind::ClogNode => others(cluster, fault.node)
            .for_each(|other| sim.hold(host_name(fault.node), host_name(other))),
        FaultKind::Pause => {
            others(cluster, fault.node)
                .for_each(|other| sim.hold(host_name(fault.node), host_name(other)));
            usual
                .clients
                .iter()
                .for_each(|client| sim.hold(host_name(fault.node), client.as_str()));
        }
        FaultKind::VanishedClient => {
            if let Some(client) = vanishing(&usual.clients, fault) {
                cluster.hosts().for_each(|node| sim.partition(client, host_name(node)));
            }
        }
        _ => return false,
    }
    true
}

/// Ends it.
pub(super) fn end(sim: &mut Sim<'_>, cluster: &Cluster, usual: &Usual, fault: &Fault) {
    match fault.kind {
        FaultKind::OneWayCut
        | FaultKind::PartialCut
        | FaultKind::Delay
        | FaultKind::Loss
        | FaultKind::ClogLink => {
            mend(sim, usual, &host_name(fault.node), &host_name(fault.other));
        }
        FaultKind::IsolatedNode | FaultKind::DeafNode | FaultKind::MuteNode => {
            join(sim, usual, cluster, fault.node)
        }
        FaultKind::Split => across(cluster, fault)
            .for_each(|(one, other)| mend(sim, usual, &host_name(one), &host_name(other))),
        FaultKind::Pause => {
            join(sim, usual, cluster, fault.node);
            usual
                .clients
                .iter()
                .for_each(|client| mend(sim, usual, &host_name(fault.node), client));
        }
        FaultKind::VanishedClient => {
            if let Some(client) = vanishing(&usual.clients, fault) {
                cluster.hosts().for_each(|node| mend(sim, usual, client, &host_name(node)));
            }
        }
        _ => {}
    }
}

/// When the links of a clogged node are free again, after the first of them: every connection finds
/// out by itself.
pub(super) fn releases<'a>(
    cluster: &'a Cluster,
    fault: &'a Fault,
) -> impl Iterator<Item = (Duration, HostId)> + 'a {
    let others = others(cluster, fault.node).zip(0..);
    others.map(|(other, turn)| {
        (Duration::from_millis((fault.seed >> (turn * 8)) % MAX_STAGGER_MS), other)
    })
}

/// Delivers what was kept between the two.
pub(super) fn release(sim: &mut Sim<'_>, usual: &Usual, one: HostId, other: HostId) {
    mend(sim, usual, &host_name(one), &host_name(other));
}

/// Nothing passes between this node and the others.
pub(super) fn isolate(sim: &Sim<'_>, cluster: &Cluster, node: HostId) {
    others(cluster, node).for_each(|other| sim.partition(host_name(node), host_name(other)));
}

/// Mends everything between this node and the others.
pub(super) fn join(sim: &mut Sim<'_>, usual: &Usual, cluster: &Cluster, node: HostId) {
    others(cluster, node).for_each(|other| mend(sim, usual, &host_name(node), &host_name(other)));
}

/// Mends every link of every node.
pub(super) fn mend_all(sim: &mut Sim<'_>, usual: &Usual, cluster: &Cluster) {
    for node in cluster.hosts() {
        join(sim, usual, cluster, node);
        usual.clients.iter().for_each(|client| mend(sim, usual, &host_name(node), client));
    }
}

fn mend(sim: &mut Sim<'_>, usual: &Usual, one: &str, other: &str) {
    sim.repair(one, other);
    sim.release(one, other);
    sim.set_link_max_message_latency(one, other, usual.latency);
    sim.set_link_fail_rate(one, other, 0.0);
}

fn others(cluster: &Cluster, node: HostId) -> impl Iterator<Item = HostId> + '_ {
    cluster.hosts().filter(move |other| *other != node)
}

/// The links between the fault's group and the rest.
fn across<'a>(
    cluster: &'a Cluster,
    fault: &'a Fault,
) -> impl Iterator<Item = (HostId, HostId)> + 'a {
    let inside = |node: &HostId| fault.group.contains(node);
    let pairs = move |one: HostId| {
        let outside = cluster.hosts().filter(move |other| !inside(other));
        outside.map(move |other| (one, other))
    };
    cluster.hosts().filter(inside).flat_map(pairs)
}

fn vanishing<'a>(clients: &'a [String], fault: &Fault) -> Option<&'a str> {
    let last = u64::try_from(clients.len()).ok()?.checked_sub(1)?;
    clients.get(usize::try_from(fault.between(0, last)).ok()?).map(String::as_str)
}
