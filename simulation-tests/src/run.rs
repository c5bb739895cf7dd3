//! One seed from start to verdict: cluster, clients; rounds of faults and healing; then the
//! checkers.
//!
//! Invariants: everything that varies is drawn from the seed before or inside the simulation;
//! nothing outside the process can change the trace. A process runs one seed.

use std::error::Error;
use std::time::Duration;

use quorate_raft::Replica;
use quorate_store::{NodeId, Retention, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::{Builder, Sim};

use crate::api::BrokenApi;
use crate::broken::Broken;
use crate::checkers::{self, LostQuorum, PastChecks, Samples};
use crate::clients::{self, Clients};
use crate::cluster::Cluster;
use crate::determinism;
use crate::faults::{FaultKind, FaultPlan, Faults};
use crate::lost_quorum::{LossTime, QuorumLoss};
use crate::operator::Operator;
use crate::panics;
use crate::plan::Plan;
use crate::report::Report;
use crate::rounds::{Round, Rounds};
use crate::trace::Trace;
use crate::workload::Workload;

/// Steps of the simulation, milliseconds. Hosts run one after the other for a step and see no
/// message that was sent in the same one, so no message is faster than a step. Short ones mix
/// finely, long ones cost less.
const TICKS_MS: [u64; 6] = [2, 4, 6, 8, 10, 10];
/// The same where the seed decides how long a run is.
const SOAK_TICKS_MS: [u64; 6] = [4, 10, 10, 20, 20, 20];
/// Longest pauses of clients between two questions, milliseconds: some are busy, some let the
/// cluster come to rest.
const THINK_MS: [u64; 4] = [60, 60, 200, 500];
/// Largest of the usual longest latencies of messages, milliseconds.
const MAX_LATENCY_MS: u64 = 15;
/// From the start of a round until its faults begin.
const CALM: Duration = Duration::from_secs(2);
/// How long clients and nodes may take after the faults until everything is served and equal
/// everywhere.
const HEALING: Duration = Duration::from_secs(60);
/// Between two looks at the nodes.
const SAMPLE_EVERY: Duration = Duration::from_millis(40);

/// How long faults go on in all unless an option says it, seconds.
const LENGTHS_SECONDS: [u64; 4] = [60, 120, 180, 240];
/// A quorum is lost in one of so many rounds of faults, at most once in a run.
const ROUNDS_PER_DISASTER: u32 = 6;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// How long faults go on, simulated, in all rounds together; without it the seed decides.
    pub(crate) faults: Option<Duration>,
    pub(crate) workload: Workload,
    pub(crate) broken: Option<Broken>,
    pub(crate) broken_api: Option<BrokenApi>,
    /// Most voters are lost for good, if the members stand still at some moment.
    pub(crate) lose_quorum: bool,
    /// Only faults of these kinds; of all when empty.
    pub(crate) only: Vec<FaultKind>,
}

/// Runs it. The nodes' state folders are made in the current folder, which must be empty.
pub(crate) fn run(scenario: &Scenario, trace: &Trace) -> Result<Report, Box<dyn Error>> {
    determinism::arm(scenario.seed);
    let panics = panics::note();
    let rounds = Rounds::new(scenario.faults(), CALM);
    let mut rng = StdRng::seed_from_u64(scenario.seed);
    let ticks = if scenario.is_soak() { SOAK_TICKS_MS } else { TICKS_MS };
    let tick = Duration::from_millis(ticks[rng.random_range(0..ticks.len())]);
    let latency = Duration::from_millis(rng.random_range(2..=MAX_LATENCY_MS));
    let mut sim = Builder::new()
        .tick_duration(tick)
        .simulation_duration(longest(&rounds))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(latency)
        .tcp_capacity(4096)
        .enable_random_order()
        .rng_seed(rng.random())
        .build();
    let plan = Plan::draw(&mut rng, scenario, trace)?;
    let (nodes, api, retention) = (plan.nodes, plan.api.clone(), plan.retention);
    let count = u32::try_from(rounds.count()).unwrap_or(u32::MAX);
    let chance = count.min(ROUNDS_PER_DISASTER);
    if scenario.lose_quorum && api.is_some() {
        return Err("a quorum is lost for good with --workload store only".into());
    }
    let due = (api.is_none()
        && (scenario.lose_quorum || rng.random_ratio(chance, ROUNDS_PER_DISASTER)))
    .then(|| LossTime {
        part: rng.random_range(0.2..0.7),
        round: scenario.seed % rounds.count() + 1,
    });
    let quorum_loss =
        QuorumLoss::new(rng.random(), due, (plan.voters, scenario.broken, trace.clone()));
    let operator = Operator::new(rng.random(), &plan);
    let cluster = Cluster::start(&mut sim, plan)?;
    let think = Duration::from_millis(THINK_MS[rng.random_range(0..THINK_MS.len())]);
    let (known, shared, workload) = ((1..=nodes).collect(), rounds.clone(), scenario.workload);
    let options = clients::Options { nodes: known, trace, think, rounds: shared, workload };
    let clients = match &api {
        Some(api) => Clients::of_api(&mut sim, &mut rng, &options, api)?,
        None => Clients::of_store(&mut sim, &mut rng, &options),
    };
    let only = scenario.only.clone();
    let schedule = FaultPlan { seed: rng.random(), nodes, clients: clients.hosts(), latency, only };
    let faults = Faults::new(schedule);
    let samples = Samples::default();
    let mut driver = Driver {
        sim,
        cluster,
        clients,
        operator,
        faults,
        rounds,
        samples,
        past: PastChecks::new(rng.random()),
        next_sample: Duration::ZERO,
        retention,
        quorum_loss,
        lost: None,
        unrecovered: None,
        differing: Vec::new(),
    };
    driver.drive()?;
    let mut report = driver.report(trace)?;
    report.seed = scenario.seed;
    report.violations.extend(panics.lock().drain(..));
    Ok(report)
}

impl Scenario {
    /// Whether the seed decides how long it takes: then it is one of many, and had better be cheap.
    pub(crate) fn is_soak(&self) -> bool {
        self.faults.is_none()
    }

    /// How long faults go on in all.
    fn faults(&self) -> Duration {
        // Every workload with every length: the remainder by six decides about the workload.
        let drawn = self.seed / 2 % LENGTHS_SECONDS.len() as u64;
        let drawn = LENGTHS_SECONDS[usize::try_from(drawn).unwrap_or_default()];
        self.faults.unwrap_or(Duration::from_secs(drawn))
    }
}

/// No run takes longer.
fn longest(rounds: &Rounds) -> Duration {
    let Round { from, until, .. } = rounds.current();
    (until - from + CALM + HEALING) * u32::try_from(rounds.count()).unwrap_or(u32::MAX) + HEALING
}

struct Driver<'a> {
    sim: Sim<'a>,
    cluster: Cluster,
    clients: Clients,
    operator: Operator,
    faults: Faults,
    rounds: Rounds,
    samples: Samples,
    past: PastChecks,
    next_sample: Duration,
    retention: Retention,
    quorum_loss: QuorumLoss,
    /// What was lost, and what was seen before.
    lost: Option<(LostQuorum, Samples)>,
    /// Why there was no recovery from that.
    unrecovered: Option<String>,
    /// Where logs differed at the ends of rounds.
    differing: Vec<String>,
}

impl Driver<'_> {
    /// Every round until the clients are content and the nodes equal, or time is up.
    fn drive(&mut self) -> Result<(), Box<dyn Error>> {
        let mut round = self.rounds.current();
        self.begin(round);
        let mut healed = false;
        loop {
            determinism::advance(self.sim.elapsed());
            let content = self.sim.step()?;
            self.faults.step(&mut self.sim, &self.cluster)?;
            self.operator.step(&mut self.sim, &self.cluster)?;
            self.lose_quorum();
            if self.unrecovered.is_some() {
                return Ok(());
            }
            let now = self.sim.elapsed();
            if !healed && now >= round.until {
                healed = true;
                tracing::info!("healing");
                self.compare_logs()?;
                self.faults.heal(&mut self.sim, &self.cluster);
                self.operator.heal();
            }
            if now >= self.next_sample {
                self.next_sample += SAMPLE_EVERY;
                self.sample();
            }
            let over = (content || healed && self.clients.rest()) && self.unfinished().is_none();
            if over && let Some(next) = self.rounds.begin_next(now + CALM) {
                (round, healed) = (next, false);
                self.begin(round);
            } else if over && content || now >= round.until + HEALING {
                self.sample();
                return Ok(());
            }
        }
    }

    /// What differs now may be overwritten or compacted once everything is whole. Members of a
    /// cluster that was given up have logs of their own.
    fn compare_logs(&mut self) -> Result<(), Box<dyn Error>> {
        if self.lost.is_none() {
            self.differing.extend(checkers::logs::check(&self.cluster.logs(|disk| disk.copy()))?);
        }
        Ok(())
    }

    fn begin(&mut self, round: Round) {
        tracing::info!(?round, "round");
        self.clients.begin_round();
        self.faults.begin_round(round);
        self.operator.begin_round(round.from);
        self.quorum_loss.begin_round(round);
    }

    /// Loses the quorum for good and recovers from that, when it is time for it.
    fn lose_quorum(&mut self) {
        if self.quorum_loss.is_near(self.sim.elapsed()) {
            self.sample();
            match self.quorum_loss.step(&mut self.sim, &self.cluster, &self.operator) {
                Ok(Some(lost)) => {
                    let before = std::mem::replace(&mut self.samples, Samples::after(lost.base));
                    self.lost = Some((lost, before));
                }
                Ok(None) => {}
                Err(error) => self.unrecovered = Some(format!("recovery: {error}")),
            }
        }
    }

    fn replicas(&self) -> Vec<(NodeId, Replica)> {
        let replica = |host| Some((self.cluster.member(host)?, self.cluster.replica(host)?));
        self.cluster.hosts().filter_map(replica).collect()
    }

    fn sample(&mut self) {
        for host in self.cluster.hosts() {
            if let (Some(node), Some(replica)) =
                (self.cluster.member(host), self.cluster.replica(host))
            {
                self.samples.look(node, self.cluster.starts(host), &replica);
                let cannot_read =
                    self.cluster.archive(host).is_decayed() || self.cluster.is_lost(host);
                self.past.look(node, &replica, cannot_read, &self.samples);
            }
        }
    }

    /// What has still to happen before the run may end.
    fn unfinished(&self) -> Option<String> {
        if !self.operator.is_content(&self.cluster) {
            return Some("the members are not those that are wanted".to_owned());
        }
        let snapshots: Vec<_> =
            self.replicas().iter().map(|(_, replica)| replica.snapshot()).collect();
        if snapshots.windows(2).any(|pair| pair[0].revision() != pair[1].revision()) {
            return Some("the nodes are not equal".to_owned());
        }
        if self.replicas().iter().any(|(_, replica)| replica.archive().is_some_and(|it| it.lag > 0))
        {
            return Some("an archive is behind".to_owned());
        }
        self.clients.unfinished(snapshots.first()?)
    }

    fn report(mut self, trace: &Trace) -> Result<Report, Box<dyn Error>> {
        let mut violations = self.faults.violations();
        violations.extend(self.unrecovered.take());
        violations.append(&mut self.differing);
        violations.extend_from_slice(self.past.violations());
        if let Some(unfinished) = self.unfinished() {
            violations.push(format!("liveness: {unfinished} {HEALING:?} after the faults"));
        }
        let mut histories = Vec::new();
        for (id, replica) in self.replicas() {
            match self.samples.history(&replica) {
                Ok(history) => histories.push((id, history)),
                Err(error) => violations.push(format!("history: node {id}: {error}")),
            }
        }
        let (found, counts) =
            self.clients.verdict(&histories, &self.samples, self.retention, self.lost.as_ref());
        violations.extend(found);
        for (id, replica) in self.replicas() {
            trace.item(id, "final state", &replica.snapshot().digest().to_le_bytes());
        }
        let (hash, traced_bytes) = trace.finish();
        let mut report = Report {
            trace: hash,
            traced_bytes,
            simulated_ms: u64::try_from(self.sim.elapsed().as_millis()).unwrap_or(u64::MAX),
            violations,
            ..Report::default()
        };
        report.faults = self.faults.coverage().table();
        let (leaders, states) = self.samples.counts();
        let starts = self.cluster.hosts().map(|host| self.cluster.starts(host)).sum();
        let revisions = histories.first().map_or(0, |(_, history)| history.len());
        let (snapshots, again) = self.samples.snapshots();
        let figures = [
            ("leaderships", leaders as u64),
            ("states compared", states as u64),
            ("snapshots sent", snapshots),
            ("snapshots sent again", again),
        ];
        let (asked, told) = self.past.counts();
        let past = [("questions about the past", asked), ("answers about the past", told)];
        let more = [
            ("node starts", starts),
            ("quorums lost", self.lost.is_some().into()),
            ("damaged disks refused", self.faults.refusals()),
            ("old copies refused", self.faults.copies_refused()),
            ("revisions", revisions as u64),
        ];
        report.counts = counts;
        report.counts.extend(
            self.operator.counts().iter().map(|(name, count)| ((*name).to_owned(), *count)),
        );
        report.counts.extend(
            figures
                .into_iter()
                .chain(past)
                .chain(more)
                .map(|(name, count)| (name.to_owned(), count)),
        );
        // As they are found when all power goes now.
        let logs = self.cluster.logs(|disk| disk.crash(report.trace));
        drop(self);
        report.violations.extend(checkers::logs::check(&logs)?);
        Ok(report)
    }
}
