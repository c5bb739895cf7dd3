//! Faults of links: cutting, holding, slowing and losing, and putting everything right again.
//!
//! Invariant: a link that is mended is as at the start, whatever went on on it.

use std::time::Duration;

use turmoil::Sim;

use super::kind::{Fault, Kind};
use crate::cluster::{Cluster, Seat, host};

/// What is usual on the links, and who else is on them.
#[derive(Debug)]
pub(super) struct Usual {
    /// Hosts of clients.
    pub(super) clients: Vec<String>,
    /// The longest latency of a message.
    pub(super) latency: Duration,
}

/// Longest time between the first and the last link of a clogged node that are free again, milliseconds.
const MAX_STAGGER_MS: u64 = 12;

/// Begins a fault of links. False when it is none.
pub(super) fn begin(sim: &mut Sim<'_>, cluster: &Cluster, usual: &Usual, fault: &Fault) -> bool {
    let (node, other) = (host(fault.node), host(fault.other));
    match fault.kind {
        Kind::IsolatedNode => isolate(sim, cluster, fault.node),
        Kind::OneWayCut => sim.partition_oneway(node, other),
        Kind::PartialCut => sim.partition(node, other),
        Kind::DeafNode => {
            others(cluster, fault.node).for_each(|other| sim.partition_oneway(host(other), host(fault.node)))
        }
        Kind::MuteNode => {
            others(cluster, fault.node).for_each(|other| sim.partition_oneway(host(fault.node), host(other)))
        }
        Kind::Split => across(cluster, fault).for_each(|(one, other)| sim.partition(host(one), host(other))),
        Kind::Delay => {
            sim.set_link_max_message_latency(node, other, Duration::from_millis(fault.between(20, 400)));
        }
        Kind::Loss => sim.set_link_fail_rate(node, other, fault.between(1, 30) as f64 / 1000.0),
        Kind::ClogLink => sim.hold(node, other),
        Kind::ClogNode => others(cluster, fault.node).for_each(|other| sim.hold(host(fault.node), host(other))),
        Kind::Pause => {
            others(cluster, fault.node).for_each(|other| sim.hold(host(fault.node), host(other)));
            usual.clients.iter().for_each(|client| sim.hold(host(fault.node), client.as_str()));
        }
        Kind::VanishedClient => {
            if let Some(client) = vanishing(&usual.clients, fault) {
                cluster.seats().for_each(|node| sim.partition(client, host(node)));
            }
        }
        _ => return false,
    }
    true
}

/// Ends it.
pub(super) fn end(sim: &mut Sim<'_>, cluster: &Cluster, usual: &Usual, fault: &Fault) {
    match fault.kind {
        Kind::OneWayCut | Kind::PartialCut | Kind::Delay | Kind::Loss | Kind::ClogLink => {
            mend(sim, usual, &host(fault.node), &host(fault.other));
        }
        Kind::IsolatedNode | Kind::DeafNode | Kind::MuteNode => join(sim, usual, cluster, fault.node),
        Kind::Split => across(cluster, fault).for_each(|(one, other)| mend(sim, usual, &host(one), &host(other))),
        Kind::Pause => {
            join(sim, usual, cluster, fault.node);
            usual.clients.iter().for_each(|client| mend(sim, usual, &host(fault.node), client));
        }
        Kind::VanishedClient => {
            if let Some(client) = vanishing(&usual.clients, fault) {
                cluster.seats().for_each(|node| mend(sim, usual, client, &host(node)));
            }
        }
        _ => {}
    }
}

/// When the links of a clogged node are free again, after the first of them: every connection finds out by itself.
pub(super) fn releases<'a>(cluster: &'a Cluster, fault: &'a Fault) -> impl Iterator<Item = (Duration, Seat)> + 'a {
    let others = others(cluster, fault.node).zip(0..);
    others.map(|(other, turn)| (Duration::from_millis((fault.seed >> (turn * 8)) % MAX_STAGGER_MS), other))
}

/// Delivers what was kept between the two.
pub(super) fn release(sim: &mut Sim<'_>, usual: &Usual, one: Seat, other: Seat) {
    mend(sim, usual, &host(one), &host(other));
}

/// Nothing passes between this node and the others.
pub(super) fn isolate(sim: &Sim<'_>, cluster: &Cluster, node: Seat) {
    others(cluster, node).for_each(|other| sim.partition(host(node), host(other)));
}

/// Mends everything between this node and the others.
pub(super) fn join(sim: &mut Sim<'_>, usual: &Usual, cluster: &Cluster, node: Seat) {
    others(cluster, node).for_each(|other| mend(sim, usual, &host(node), &host(other)));
}

/// Mends every link of every node.
pub(super) fn mend_all(sim: &mut Sim<'_>, usual: &Usual, cluster: &Cluster) {
    for node in cluster.seats() {
        join(sim, usual, cluster, node);
        usual.clients.iter().for_each(|client| mend(sim, usual, &host(node), client));
    }
}

fn mend(sim: &mut Sim<'_>, usual: &Usual, one: &str, other: &str) {
    sim.repair(one, other);
    sim.release(one, other);
    sim.set_link_max_message_latency(one, other, usual.latency);
    sim.set_link_fail_rate(one, other, 0.0);
}

fn others(cluster: &Cluster, node: Seat) -> impl Iterator<Item = Seat> + '_ {
    cluster.seats().filter(move |other| *other != node)
}

/// The links between the fault's group and the rest.
fn across<'a>(cluster: &'a Cluster, fault: &'a Fault) -> impl Iterator<Item = (Seat, Seat)> + 'a {
    let inside = |node: &Seat| fault.group.contains(node);
    let pairs = move |one: Seat| {
        let outside = cluster.seats().filter(move |other| !inside(other));
        outside.map(move |other| (one, other))
    };
    cluster.seats().filter(inside).flat_map(pairs)
}

fn vanishing<'a>(clients: &'a [String], fault: &Fault) -> Option<&'a str> {
    let last = u64::try_from(clients.len()).ok()?.checked_sub(1)?;
    clients.get(usize::try_from(fault.between(0, last)).ok()?).map(String::as_str)
}
