//! What goes wrong, when and for how long: all drawn from the seed before the run begins.
//!
//! Invariants: every fault ends by itself or with [`Faults::heal`]; after that nothing is cut, slow or down. A fault that does not apply
//! when its time comes (its node is down already) is not counted.

use std::collections::BTreeMap;
use std::time::Duration;

use quorate_store::NodeId;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::Sim;

use crate::cluster::{Cluster, host};

/// The usual longest latency of a message.
pub(crate) const MAX_LATENCY: Duration = Duration::from_millis(8);
/// Longest pause between two faults, milliseconds.
const MAX_PAUSE_MS: u64 = 1500;
/// Longest time until a fault ends, milliseconds.
const MAX_FAULT_MS: u64 = 4000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing passes between this node and the other nodes.
    Isolate(NodeId),
    /// Nothing passes from the one to the other.
    CutOneWay(NodeId, NodeId),
    /// Messages between the two take up to this long, in milliseconds.
    Delay(NodeId, NodeId, u64),
    /// Messages between the two are kept, and then all delivered.
    Clog(NodeId, NodeId),
    /// The process dies.
    Kill(NodeId),
    /// The power goes; how much of the unsynced data is lost is up to the seed.
    PowerCut(NodeId, u64),
    /// The power goes during one of the next calls to the log's disk.
    PowerCutInCall(NodeId, u64, u64),
    /// The power of all nodes goes at once.
    PowerCutAll(u64),
    /// A sync of the log's disk fails, after this many further ones.
    FailSync(NodeId, u64),
    /// Syncs take this long, in milliseconds.
    SlowSync(NodeId, u64),
}

impl Kind {
    fn draw(rng: &mut StdRng, nodes: u64) -> Self {
        let one = rng.random_range(1..=nodes);
        let other = (one - 1 + rng.random_range(1..nodes)) % nodes + 1;
        match rng.random_range(0..100) {
            0..16 => Self::Isolate(one),
            16..28 => Self::CutOneWay(one, other),
            28..36 => Self::Delay(one, other, rng.random_range(20..400)),
            36..44 => Self::Clog(one, other),
            44..56 => Self::Kill(one),
            56..74 => Self::PowerCut(one, rng.random()),
            74..82 => Self::PowerCutInCall(one, rng.random_range(0..40), rng.random()),
            82..86 => Self::PowerCutAll(rng.random()),
            86..92 => Self::FailSync(one, rng.random_range(0..40)),
            _ => Self::SlowSync(one, rng.random_range(5..80)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Isolate(_) => "isolated node",
            Self::CutOneWay(..) => "one-way cut",
            Self::Delay(..) => "delay",
            Self::Clog(..) => "clogged link",
            Self::Kill(_) => "killed process",
            Self::PowerCut(..) => "power cut",
            Self::PowerCutInCall(..) => "power cut during a disk call",
            Self::PowerCutAll(_) => "power cut of all nodes",
            Self::FailSync(..) => "failed sync",
            Self::SlowSync(..) => "slow sync",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Begin(Kind, Duration),
    End(Kind),
    Restart(NodeId),
}

/// The faults of a run.
pub(crate) struct Faults {
    agenda: BTreeMap<(Duration, u64), Step>,
    sequence: u64,
    rng: StdRng,
    nodes: u64,
    /// What happens to a node whose power goes during a call, by node.
    power_cuts: BTreeMap<NodeId, u64>,
    counts: BTreeMap<&'static str, u64>,
    violations: Vec<String>,
}

impl Faults {
    /// Draws what happens from `from` until `until`.
    pub(crate) fn draw(seed: u64, nodes: u64, from: Duration, until: Duration) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut agenda = BTreeMap::new();
        let mut time = from;
        for sequence in 0.. {
            time += Duration::from_millis(rng.random_range(1..=MAX_PAUSE_MS));
            if time >= until {
                break;
            }
            let length = Duration::from_millis(rng.random_range(1..=MAX_FAULT_MS));
            agenda.insert((time, sequence), Step::Begin(Kind::draw(&mut rng, nodes), length));
        }
        let sequence = agenda.len() as u64;
        Self {
            agenda,
            sequence,
            rng,
            nodes,
            power_cuts: BTreeMap::new(),
            counts: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    /// Does what is due, and restarts what has ended by itself.
    pub(crate) fn step(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) {
        let now = sim.elapsed();
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Step::Begin(kind, length) => self.begin(sim, cluster, kind, length),
                Step::End(kind) => self.end(sim, cluster, kind),
                Step::Restart(node) => self.restart(sim, cluster, node),
            }
        }
        for node in cluster.ids() {
            self.look_after(sim, cluster, node);
        }
    }

    /// Ends everything that is still going on.
    pub(crate) fn heal(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) {
        self.agenda.clear();
        for node in cluster.ids() {
            for other in cluster.ids().filter(|other| *other != node) {
                self.connect(sim, node, other);
            }
            cluster.usual_sync(node);
            let disk = cluster.disk(node);
            disk.crash_after(u64::MAX);
            disk.fail_sync_after(u64::MAX);
            self.restart(sim, cluster, node);
        }
    }

    /// How often each kind of fault happened.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// Nodes that ended without a reason.
    pub(crate) fn violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    fn later(&mut self, time: Duration, step: Step) {
        self.sequence += 1;
        self.agenda.insert((time, self.sequence), step);
    }

    fn begin(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, kind: Kind, length: Duration) {
        let end = sim.elapsed() + length;
        match kind {
            Kind::Isolate(node) => {
                for other in cluster.ids().filter(|other| *other != node) {
                    sim.partition(host(node), host(other));
                }
            }
            Kind::CutOneWay(from, to) => sim.partition_oneway(host(from), host(to)),
            Kind::Delay(one, other, ms) => {
                sim.set_link_max_message_latency(host(one), host(other), Duration::from_millis(ms));
            }
            Kind::Clog(one, other) => sim.hold(host(one), host(other)),
            Kind::Kill(node) if cluster.runs(sim, node) => cluster.kill(sim, node),
            Kind::PowerCut(node, seed) if cluster.runs(sim, node) => cluster.cut_power(sim, node, seed),
            Kind::PowerCutInCall(node, calls, seed) if cluster.runs(sim, node) => {
                cluster.disk(node).crash_after(calls);
                self.power_cuts.insert(node, seed);
            }
            Kind::PowerCutAll(seed) => {
                for node in cluster.ids() {
                    cluster.cut_power(sim, node, seed.wrapping_add(node));
                    self.later(end, Step::Restart(node));
                }
            }
            Kind::FailSync(node, syncs) if cluster.runs(sim, node) => cluster.disk(node).fail_sync_after(syncs),
            Kind::SlowSync(node, ms) => cluster.disk(node).set_sync_delay(Duration::from_millis(ms)),
            _ => return,
        }
        *self.counts.entry(kind.name()).or_default() += 1;
        tracing::info!(?kind, ?length, "fault");
        self.later(end, Step::End(kind));
    }

    fn end(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, kind: Kind) {
        match kind {
            Kind::Isolate(node) => {
                for other in (1..=self.nodes).filter(|other| *other != node) {
                    self.connect(sim, node, other);
                }
            }
            Kind::CutOneWay(one, other) | Kind::Delay(one, other, _) | Kind::Clog(one, other) => {
                self.connect(sim, one, other);
            }
            Kind::Kill(node) | Kind::PowerCut(node, _) => self.restart(sim, cluster, node),
            Kind::SlowSync(node, _) => cluster.usual_sync(node),
            Kind::PowerCutInCall(..) | Kind::PowerCutAll(_) | Kind::FailSync(..) => {}
        }
    }

    fn connect(&self, sim: &Sim<'_>, one: NodeId, other: NodeId) {
        sim.repair(host(one), host(other));
        sim.release(host(one), host(other));
        sim.set_link_max_message_latency(host(one), host(other), MAX_LATENCY);
    }

    fn restart(&self, sim: &mut Sim<'_>, cluster: &Cluster, node: NodeId) {
        if !cluster.runs(sim, node) {
            tracing::info!(node, "restart");
            cluster.restart(sim, node);
        }
    }

    /// Ends what has lost power during a call, and plans the restart of what has ended by itself.
    fn look_after(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, node: NodeId) {
        let down = Duration::from_millis(self.rng.random_range(1..=MAX_FAULT_MS));
        let disk = cluster.disk(node);
        if disk.crashed() {
            let seed = self.power_cuts.remove(&node).unwrap_or_default();
            cluster.cut_power(sim, node, seed);
            cluster.forget_end(node);
            return self.later(sim.elapsed() + down, Step::Restart(node));
        }
        let Some(reason) = cluster.ended(node) else { return };
        if !reason.contains("simulated sync failure") {
            let violation = format!("node {node} ended by itself: {reason}");
            if !self.violations.contains(&violation) {
                self.violations.push(violation);
            }
        }
        tracing::info!(node, reason, "ended");
        // Half the time the machine reboots, and loses its cache; half the time only the process starts again.
        if self.rng.random() {
            cluster.cut_power(sim, node, self.rng.random());
        } else {
            cluster.kill(sim, node);
        }
        cluster.forget_end(node);
        self.later(sim.elapsed() + down, Step::Restart(node));
    }
}
