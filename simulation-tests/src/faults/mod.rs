//! The faults of a run: kind, time and length are drawn from the seed before a round begins.
//!
//! Invariants: every fault ends by itself or with [`Faults::heal`]; after that nothing is cut, slow
//! or down. What is counted is what faults have done, see `coverage`: not one whose node is down
//! when its time comes, nor a cut with no running node at one of its ends. Counting changes nothing
//! that happens.

mod archives;
mod clocks;
mod coverage;
mod ends;
mod kind;
mod network;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::Sim;

use crate::cluster::Cluster;
use crate::node::Command;
use crate::rounds::Round;
use crate::topology::HostId;

use kind::Fault;
use network::Usual;

pub(crate) use coverage::Coverage;
pub(crate) use kind::FaultKind;
pub(crate) use plan::FaultPlan;

/// Longest pause between two faults, milliseconds.
const MAX_PAUSE_MS: u64 = 1500;
/// Longest time until a fault ends, milliseconds.
const MAX_FAULT_MS: u64 = 4000;
/// Between two turns of a flapping link, milliseconds.
const FLAP_MS: u64 = 300;
/// Bytes that a full disk still takes: less than a segment.
const LAST_BYTES: u64 = 8_000;
/// A disk stays full so many times as long as other faults last: first the log uses up what was
/// made ahead.
const FULL_TIMES: u32 = 8;

#[derive(Debug, Clone)]
enum Step {
    Begin(Fault, Duration),
    End(Fault),
    /// A node's turn in a rolling restart, and how long it is down.
    Turn(HostId, Duration),
    Restart(HostId),
    Cut(HostId),
    Join(HostId),
    Hurry(HostId, Duration),
    Release(HostId, HostId),
}

/// The faults of a run.
pub(crate) struct Faults {
    nodes: u64,
    only: Vec<FaultKind>,
    schedule: BTreeMap<(Duration, u64), Step>,
    sequence: u64,
    rng: StdRng,
    usual: Usual,
    /// What happens to a node whose power goes during a call, by node.
    power_cuts: BTreeMap<HostId, u64>,
    /// Faults that wait for a snapshot, any node's, and until when.
    ambushes: Vec<(Duration, Fault)>,
    coverage: Coverage,
    refusals: u64,
    copies_refused: u64,
    violations: Vec<String>,
}

impl Faults {
    /// None yet.
    pub(crate) fn new(plan: FaultPlan) -> Self {
        Self {
            nodes: plan.nodes,
            only: plan.only,
            schedule: BTreeMap::new(),
            sequence: 0,
            rng: StdRng::seed_from_u64(plan.seed),
            usual: Usual { clients: plan.clients, latency: plan.latency },
            power_cuts: BTreeMap::new(),
            ambushes: Vec::new(),
            coverage: Coverage::default(),
            refusals: 0,
            copies_refused: 0,
            violations: Vec::new(),
        }
    }

    /// Draws what happens in a round.
    pub(crate) fn begin_round(&mut self, round: Round) {
        let mut time = round.from;
        loop {
            time += Duration::from_millis(self.rng.random_range(1..=MAX_PAUSE_MS));
            if time >= round.until {
                return;
            }
            let length = Duration::from_millis(self.rng.random_range(1..=MAX_FAULT_MS));
            let fault = Fault::draw(&mut self.rng, self.nodes, &self.only);
            let times = if fault.kind == FaultKind::FullDisk { FULL_TIMES } else { 1 };
            self.later(time, Step::Begin(fault, length * times));
        }
    }

    /// Does what is due, and restarts what has ended by itself.
    pub(crate) fn step(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        self.coverage.look(cluster);
        if cluster.is_calm() {
            self.mend(sim, cluster);
        } else {
            self.proceed(sim, cluster)?;
        }
        for node in cluster.hosts() {
            self.look_after(sim, cluster, node)?;
        }
        Ok(())
    }

    fn proceed(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        let now = sim.elapsed();
        while let Some(entry) = self.schedule.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Step::Begin(fault, length) => self.begin(sim, cluster, &fault, length)?,
                Step::End(fault) => self.end(sim, cluster, &fault)?,
                Step::Turn(node, down) => self.take_turn(sim, cluster, node, down),
                Step::Restart(node) => self.restart(sim, cluster, node),
                Step::Cut(node) => network::isolate(sim, cluster, node),
                Step::Join(node) => network::join(sim, &self.usual, cluster, node),
                Step::Hurry(node, by) => cluster.command(node, Command::Jump(by)),
                Step::Release(one, other) => network::release(sim, &self.usual, one, other),
            }
        }
        self.spring(sim, cluster)
    }

    /// Ends everything that is still going on.
    pub(crate) fn heal(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) {
        self.schedule.clear();
        self.mend(sim, cluster);
        for node in cluster.hosts() {
            cluster.set_drift(node, 0);
            self.restart(sim, cluster, node);
        }
    }

    /// Mends links and disks; what is down stays down.
    fn mend(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) {
        self.ambushes.clear();
        self.coverage.disarm_all();
        network::mend_all(sim, &self.usual, cluster);
        for node in cluster.hosts() {
            cluster.usual_sync(node);
            let disk = cluster.disk(node);
            disk.crash_after(u64::MAX);
            disk.fail_sync_after(u64::MAX);
            disk.set_capacity(None);
            cluster.archive(node).set_full(false);
            cluster.fail_state_sync(node, false);
        }
    }

    /// How often each kind of fault happened, and to what.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// How often a member with a damaged disk refused to start.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// How often a member refused to start from an older copy of its disk.
    pub(crate) fn copies_refused(&self) -> u64 {
        self.copies_refused
    }

    /// Nodes that ended without a reason.
    pub(crate) fn violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    fn later(&mut self, time: Duration, step: Step) {
        self.sequence += 1;
        self.schedule.insert((time, self.sequence), step);
    }

    fn begin(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        fault: &Fault,
        length: Duration,
    ) -> io::Result<()> {
        let begins = sim.elapsed();
        let running: BTreeSet<HostId> =
            cluster.hosts().filter(|host| cluster.runs(sim, *host)).collect();
        self.coverage.begin(cluster, &running, fault);
        let applies = network::begin(sim, cluster, &self.usual, fault)
            | self.begin_here(sim, cluster, fault, length)?;
        if applies {
            tracing::info!(?fault, ?length, "fault");
            self.later(begins + length, Step::End(fault.clone()));
        }
        Ok(())
    }

    /// Whatever a fault does beside the links. False when it does nothing.
    fn begin_here(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        fault: &Fault,
        length: Duration,
    ) -> io::Result<bool> {
        let (node, begins) = (fault.node, sim.elapsed());
        let disk = cluster.disk(node);
        match fault.kind {
            FaultKind::FullDisk => disk.set_capacity(
                usize::try_from(fault.between(0, LAST_BYTES)).ok().map(|left| disk.used() + left),
            ),
            FaultKind::SlowSync => disk.set_sync_delay(Duration::from_millis(fault.between(5, 80))),
            FaultKind::Pause => disk.set_sync_delay(length),
            FaultKind::ClockJump => clocks::jump(cluster, fault),
            FaultKind::ClockDrift => {
                for (after, by) in clocks::drift(cluster, fault, length) {
                    self.later(begins + after, Step::Hurry(node, by));
                }
            }
            FaultKind::CrashInInstall => {
                self.ambushes.push((begins + length, fault.clone()));
                return Ok(false);
            }
            FaultKind::FlappingNode => {
                let turns = u64::try_from(length.as_millis()).unwrap_or(0) / FLAP_MS;
                for turn in 0..=turns {
                    let step = if turn % 2 == 0 { Step::Cut(node) } else { Step::Join(node) };
                    self.later(begins + Duration::from_millis(turn * FLAP_MS), step);
                }
            }
            FaultKind::RollingRestart => {
                for (node, turn) in cluster.hosts().zip(0..) {
                    self.later(begins + length * turn, Step::Turn(node, length / 2));
                }
            }
            FaultKind::PowerCutAll => {
                for node in cluster.hosts() {
                    cluster.cut_power(sim, node, fault.seed.wrapping_add(node));
                    self.later(begins + length, Step::Restart(node));
                }
            }
            _ if !cluster.runs(sim, node) => return Ok(false),
            FaultKind::Kill => cluster.kill(sim, node),
            FaultKind::PowerCut => cluster.cut_power(sim, node, fault.seed),
            FaultKind::PowerCutInCall => {
                disk.crash_after(fault.between(0, 40));
                self.power_cuts.insert(node, fault.seed);
            }
            FaultKind::FailedSync => disk.fail_sync_after(fault.between(0, 40)),
            FaultKind::FailedStateSync => cluster.fail_state_sync(node, true),
            _ => return archives::begin(sim, cluster, fault),
        }
        Ok(true)
    }

    /// Crashes a node to which a snapshot is coming, if there is one and that is wanted.
    fn spring(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        let now = sim.elapsed();
        self.ambushes.retain(|(until, _)| now < *until);
        if self.ambushes.is_empty() {
            return Ok(());
        }
        let installing = |host: &HostId| {
            cluster.replica(*host).is_some_and(|replica| replica.positions().installing)
        };
        let Some(node) = cluster.hosts().find(installing) else {
            return Ok(());
        };
        // Not always at its first moment.
        if !self.rng.random_ratio(1, 3) {
            return Ok(());
        }
        let (_, fault) = self.ambushes.remove(0);
        self.coverage.add(fault.kind, coverage::state(cluster, node));
        tracing::info!(node, "crash during the installation of a snapshot");
        if fault.seed.is_multiple_of(2) {
            cluster.kill(sim, node);
        } else {
            cluster.cut_power(sim, node, fault.seed);
        }
        let down = Duration::from_millis(fault.between(1, MAX_FAULT_MS));
        self.later(now + down, Step::Restart(node));
        Ok(())
    }

    fn end(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, fault: &Fault) -> io::Result<()> {
        network::end(sim, cluster, &self.usual, fault);
        let node = fault.node;
        match fault.kind {
            FaultKind::Kill
            | FaultKind::PowerCut
            | FaultKind::LostArchive
            | FaultKind::DecayedArchive => self.restart(sim, cluster, node),
            FaultKind::SwappedArchives => {
                [node, fault.other].into_iter().for_each(|node| self.restart(sim, cluster, node));
            }
            FaultKind::FullArchive => cluster.archive(node).set_full(false),
            // Whatever the failed sync has left in the system's cache alone is gone now.
            FaultKind::FailedSync if fault.seed.is_multiple_of(2) => {
                cluster.cut_power(sim, node, fault.seed);
                self.later(
                    sim.elapsed() + Duration::from_millis(fault.between(1, MAX_FAULT_MS)),
                    Step::Restart(node),
                );
            }
            FaultKind::SlowSync => cluster.usual_sync(node),
            FaultKind::ClockDrift => cluster.set_drift(node, 0),
            FaultKind::FullDisk => {
                cluster.disk(node).set_capacity(None);
                self.coverage.disarm(node, fault.kind);
            }
            FaultKind::FlappingNode => network::join(sim, &self.usual, cluster, node),
            FaultKind::ClogNode => {
                for (after, other) in network::releases(cluster, fault) {
                    self.later(sim.elapsed() + after, Step::Release(node, other));
                }
            }
            FaultKind::Pause => {
                cluster.usual_sync(node);
                cluster.command(
                    node,
                    Command::Jump(Duration::from_millis(fault.between(100, MAX_FAULT_MS))),
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Kills a node in its turn, if it runs.
    fn take_turn(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, node: HostId, down: Duration) {
        if cluster.runs(sim, node) {
            cluster.kill(sim, node);
            self.later(sim.elapsed() + down, Step::Restart(node));
        }
    }

    fn restart(&self, sim: &mut Sim<'_>, cluster: &Cluster, node: HostId) {
        if !cluster.runs(sim, node) {
            tracing::info!(node, "restart");
            cluster.restart(sim, node);
        }
    }
}
