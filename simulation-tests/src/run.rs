//! One seed from start to verdict: cluster, clients, faults; healing; then the checkers.
//!
//! Invariants: everything that varies is drawn from the seed before or inside the simulation; nothing outside the process can
//! change the trace. A process runs one seed.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_raft::Replica;
use quorate_raft::replica::{Compaction, Timing};
use quorate_store::{NodeId, Retention, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::{Builder, Sim};

use crate::api::{ApiPlan, BrokenApi};
use crate::broken::Broken;
use crate::checkers::{self, LostQuorum, Samples};
use crate::clients::{self, Clients};
use crate::cluster::{Cluster, Plan};
use crate::determinism;
use crate::disaster::Disaster;
use crate::faults::{Agenda, Faults, Kind};
use crate::operator::Operator;
use crate::report::Report;
use crate::trace::Trace;
use crate::workload::Workload;

/// Steps of the simulation, milliseconds. Hosts run one after the other for a step and see no message that was sent in the same one, so no
/// message is faster than a step. Short ones mix finely, long ones cost less.
const TICKS_MS: [u64; 6] = [2, 4, 6, 8, 10, 10];
/// Longest pauses of clients between two questions, milliseconds: some are busy, some let the cluster come to rest.
const THINK_MS: [u64; 4] = [60, 60, 200, 500];
/// Largest of the usual longest latencies of messages, milliseconds.
const MAX_LATENCY_MS: u64 = 15;
/// From the start until faults begin.
const CALM: Duration = Duration::from_secs(2);
/// How long clients and nodes may take after the faults until everything is served and equal everywhere.
const HEALING: Duration = Duration::from_secs(60);
/// Between two looks at the nodes.
const SAMPLE_EVERY: Duration = Duration::from_millis(40);

/// Longer than any run, milliseconds.
const RETENTION_MS: u64 = 24 * 3600 * 1000;
/// Little enough history that readers miss something, and enough that the driver, which looks now and then, does not; bytes.
const LITTLE_HISTORY_BYTES: Range<u64> = 30_000..150_000;
/// The same with the API, whose first second brings many objects.
const LITTLE_API_HISTORY_BYTES: Range<u64> = 500_000..900_000;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// How long faults go on, simulated.
    pub(crate) faults: Duration,
    pub(crate) workload: Workload,
    pub(crate) broken: Option<Broken>,
    pub(crate) broken_api: Option<BrokenApi>,
    /// Most voters are lost for good, if the members stand still at some moment.
    pub(crate) lose_quorum: bool,
    /// Only faults of these kinds; of all when empty.
    pub(crate) only: Vec<Kind>,
}

/// Runs it. The nodes' state folders are made in the current folder, which must be empty.
pub(crate) fn run(scenario: &Scenario, trace: &Trace) -> Result<Report, Box<dyn Error>> {
    determinism::arm(scenario.seed);
    let panics = note_panics();
    let until = CALM + scenario.faults;
    let mut rng = StdRng::seed_from_u64(scenario.seed);
    let tick = Duration::from_millis(TICKS_MS[rng.random_range(0..TICKS_MS.len())]);
    let latency = Duration::from_millis(rng.random_range(2..=MAX_LATENCY_MS));
    let mut sim = Builder::new()
        .tick_duration(tick)
        .simulation_duration(until + HEALING * 2)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(latency)
        .tcp_capacity(4096)
        .enable_random_order()
        .rng_seed(rng.random())
        .build();
    let plan = plan(&mut rng, scenario, trace)?;
    let (nodes, api, retention) = (plan.nodes, plan.api.clone(), plan.retention);
    let due = (api.is_none() && (scenario.lose_quorum || rng.random_ratio(1, 6)))
        .then(|| CALM + scenario.faults.mul_f64(rng.random_range(0.2..0.7)));
    let disaster = Disaster::new(rng.random(), due, until, (plan.voters, scenario.broken, trace.clone()));
    let operator = Operator::new(rng.random(), &plan, CALM);
    let cluster = Cluster::start(&mut sim, plan)?;
    let think = Duration::from_millis(THINK_MS[rng.random_range(0..THINK_MS.len())]);
    let options = clients::Options { nodes: (1..=nodes).collect(), trace, think, until };
    let clients = match &api {
        Some(api) => Clients::of_api(&mut sim, &mut rng, &options, api)?,
        None => Clients::of_store(&mut sim, &mut rng, &options),
    };
    let only = scenario.only.clone();
    let agenda = Agenda { seed: rng.random(), nodes, clients: clients.hosts(), latency, from: CALM, until, only };
    let faults = Faults::draw(agenda);
    let samples = Samples::default();
    let mut driver = Driver {
        sim,
        cluster,
        clients,
        operator,
        faults,
        samples,
        next_sample: Duration::ZERO,
        retention,
        disaster,
        lost: None,
        unrecovered: None,
    };
    driver.drive(until)?;
    let mut report = driver.report(trace)?;
    report.seed = scenario.seed;
    report.violations.extend(panics.lock().drain(..));
    Ok(report)
}

/// The cluster's shape, its settings and the speed of its disks.
fn plan(rng: &mut StdRng, scenario: &Scenario, trace: &Trace) -> Result<Plan, Box<dyn Error>> {
    let voters = if rng.random_ratio(1, 4) { 5 } else { 3 };
    let nodes = voters + [0, 0, 1, 2][rng.random_range(0..4)];
    let heartbeat = Duration::from_millis(rng.random_range(50..150));
    let election_min = heartbeat * rng.random_range(2..4);
    let election_max = election_min + heartbeat * rng.random_range(1..4);
    let mut retention = Retention { time_ms: RETENTION_MS, ..Retention::default() };
    if rng.random_ratio(1, 3) {
        retention.bytes = rng.random_range(match scenario.workload {
            Workload::Store => LITTLE_HISTORY_BYTES,
            Workload::Api => LITTLE_API_HISTORY_BYTES,
        });
    }
    let api = match scenario.workload {
        Workload::Api => Some(Arc::new(ApiPlan::new(nodes + 1, scenario.broken_api)?)),
        Workload::Store => None,
    };
    Ok(Plan {
        seed: rng.random(),
        voters,
        nodes,
        seats: nodes + 1,
        compaction: Compaction { every: rng.random_range(10..150), keep: rng.random_range(1..50) },
        timing: Timing { heartbeat, election_min, election_max },
        retention,
        sync: Duration::from_micros(rng.random_range(0..5000)),
        broken: scenario.broken,
        trace: trace.clone(),
        api,
    })
}

/// A panic anywhere, also in a task of tokio that swallows it, is a violation.
fn note_panics() -> Arc<Mutex<Vec<String>>> {
    let panics = Arc::new(Mutex::new(Vec::new()));
    let noted = panics.clone();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        noted.lock().push(format!("panic: {}", panic.to_string().replace('\n', " ")));
        usual(panic);
    }));
    panics
}

struct Driver<'a> {
    sim: Sim<'a>,
    cluster: Cluster,
    clients: Clients,
    operator: Operator,
    faults: Faults,
    samples: Samples,
    next_sample: Duration,
    retention: Retention,
    disaster: Disaster,
    /// What was lost, and what was seen before.
    lost: Option<(LostQuorum, Samples)>,
    /// Why there was no recovery from that.
    unrecovered: Option<String>,
}

impl Driver<'_> {
    /// Until the clients are content and the nodes equal, or time is up.
    fn drive(&mut self, until: Duration) -> Result<(), Box<dyn Error>> {
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
            if !healed && self.sim.elapsed() >= until {
                healed = true;
                tracing::info!("healing");
                self.faults.heal(&mut self.sim, &self.cluster);
                self.operator.heal();
            }
            if self.sim.elapsed() >= self.next_sample {
                self.next_sample += SAMPLE_EVERY;
                self.sample();
            }
            if (content && self.unfinished().is_none()) || self.sim.elapsed() >= until + HEALING {
                self.sample();
                return Ok(());
            }
        }
    }

    /// Loses the quorum for good and recovers from that, when it is time for it.
    fn lose_quorum(&mut self) {
        if self.disaster.is_near(self.sim.elapsed()) {
            self.sample();
            match self.disaster.step(&mut self.sim, &self.cluster, &self.operator) {
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
        let replica = |seat| Some((self.cluster.member(seat)?, self.cluster.replica(seat)?));
        self.cluster.seats().filter_map(replica).collect()
    }

    fn sample(&mut self) {
        for seat in self.cluster.seats() {
            if let (Some(node), Some(replica)) = (self.cluster.member(seat), self.cluster.replica(seat)) {
                self.samples.look(node, self.cluster.starts(seat), &replica);
            }
        }
    }

    /// What has still to happen before the run may end.
    fn unfinished(&self) -> Option<String> {
        if !self.operator.is_content(&self.cluster) {
            return Some("the members are not those that are wanted".to_owned());
        }
        let snapshots: Vec<_> = self.replicas().iter().map(|(_, replica)| replica.snapshot()).collect();
        if snapshots.windows(2).any(|pair| pair[0].revision() != pair[1].revision()) {
            return Some("the nodes are not equal".to_owned());
        }
        self.clients.unfinished(snapshots.first()?)
    }

    fn report(mut self, trace: &Trace) -> Result<Report, Box<dyn Error>> {
        let mut violations = self.faults.violations();
        violations.extend(self.unrecovered.take());
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
        let (found, counts) = self.clients.verdict(&histories, &self.samples, self.retention, self.lost.as_ref());
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
        let starts = self.cluster.seats().map(|seat| self.cluster.starts(seat)).sum();
        let revisions = histories.first().map_or(0, |(_, history)| history.len());
        let (snapshots, again) = self.samples.snapshots();
        let figures = [
            ("leaderships", leaders as u64),
            ("states compared", states as u64),
            ("snapshots sent", snapshots),
            ("snapshots sent again", again),
        ];
        let more = [
            ("node starts", starts),
            ("quorums lost", self.lost.is_some().into()),
            ("damaged disks refused", self.faults.refusals()),
            ("old copies refused", self.faults.copies_refused()),
            ("sectors of states lost", determinism::JOURNALS.lost()),
            ("revisions", revisions as u64),
        ];
        report.counts = counts;
        report.counts.extend(self.operator.counts().iter().map(|(name, count)| ((*name).to_owned(), *count)));
        report.counts.extend(figures.into_iter().chain(more).map(|(name, count)| (name.to_owned(), count)));
        let logs = self.cluster.logs(report.trace);
        drop(self);
        report.violations.extend(checkers::logs::check(&logs)?);
        Ok(report)
    }
}
