//! One seed from start to verdict: cluster, clients, faults; healing; then the checkers.
//!
//! Invariants: everything that varies is drawn from the seed before or inside the simulation; nothing outside the process can
//! change the trace. A process runs one seed.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_raft::Replica;
use quorate_raft::replica::{Compaction, Timing};
use quorate_store::{Batch, NodeId, Outcome, Revision, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::{Builder, Sim};

use crate::broken::Broken;
use crate::checkers::{self, Samples};
use crate::cluster::{Cluster, Plan};
use crate::determinism;
use crate::env::env;
use crate::faults::{Agenda, Faults, Kind};
use crate::operator::Operator;
use crate::report::Report;
use crate::trace::Trace;
use crate::workload::{self, Decision, Progress, Records, What, watcher::Watcher, writer::Writer};

/// Clients that write and read.
const WRITERS: u64 = 3;
/// Clients that watch.
const WATCHERS: u64 = 2;
/// Largest of the usual longest latencies of messages, milliseconds.
const MAX_LATENCY_MS: u64 = 15;
/// From the start until faults begin.
const CALM: Duration = Duration::from_secs(2);
/// How long clients and nodes may take after the faults until everything is served and equal everywhere.
const HEALING: Duration = Duration::from_secs(60);
/// Between two looks at the nodes, in steps of one simulated millisecond.
const SAMPLE_STEPS: u64 = 40;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// How long faults go on, simulated.
    pub(crate) faults: Duration,
    pub(crate) broken: Option<Broken>,
    /// Only faults of these kinds; of all when empty.
    pub(crate) only: Vec<Kind>,
}

/// Runs it. The nodes' state folders are made in the current folder, which must be empty.
pub(crate) fn run(scenario: &Scenario, trace: &Trace) -> Result<Report, Box<dyn Error>> {
    determinism::arm(scenario.seed);
    let panics = note_panics();
    let until = CALM + scenario.faults;
    let mut rng = StdRng::seed_from_u64(scenario.seed);
    let latency = Duration::from_millis(rng.random_range(2..=MAX_LATENCY_MS));
    let mut sim = Builder::new()
        .simulation_duration(until + HEALING * 2)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(latency)
        .tcp_capacity(4096)
        .enable_random_order()
        .rng_seed(rng.random())
        .build();
    let plan = plan(&mut rng, scenario, trace);
    let nodes = plan.nodes;
    let operator = Operator::new(rng.random(), &plan, CALM);
    let cluster = Cluster::start(&mut sim, plan)?;
    let progress = Progress::default();
    add_clients(&mut sim, &mut rng, nodes, &progress, trace, until);
    let only = scenario.only.clone();
    let agenda = Agenda { seed: rng.random(), nodes, clients: clients(), latency, from: CALM, until, only };
    let faults = Faults::draw(agenda);
    let mut driver = Driver { sim, cluster, operator, faults, samples: Samples::default(), steps: 0 };
    driver.drive(until)?;
    let mut report = driver.report(&progress.take(), trace)?;
    report.seed = scenario.seed;
    report.violations.extend(panics.lock().drain(..));
    Ok(report)
}

/// The cluster's shape, its settings and the speed of its disks.
fn plan(rng: &mut StdRng, scenario: &Scenario, trace: &Trace) -> Plan {
    let voters = if rng.random_ratio(1, 4) { 5 } else { 3 };
    let nodes = voters + [0, 0, 1, 2][rng.random_range(0..4)];
    let heartbeat = Duration::from_millis(rng.random_range(50..150));
    let election_min = heartbeat * rng.random_range(2..4);
    let election_max = election_min + heartbeat * rng.random_range(1..4);
    Plan {
        seed: rng.random(),
        voters,
        nodes,
        seats: nodes + 1,
        compaction: Compaction { every: rng.random_range(10..150), keep: rng.random_range(1..50) },
        timing: Timing { heartbeat, election_min, election_max },
        sync: Duration::from_micros(rng.random_range(0..5000)),
        broken: scenario.broken,
        trace: trace.clone(),
    }
}

fn add_clients(sim: &mut Sim<'_>, rng: &mut StdRng, nodes: u64, progress: &Progress, trace: &Trace, until: Duration) {
    for client in 1..=WRITERS {
        let (seed, progress) = (rng.random(), progress.clone());
        let env = env(seed, 0, trace.clone());
        let writer = Writer { client, seed, nodes, env, progress, until };
        sim.client(format!("writer{client}"), async move {
            Box::pin(workload::work(writer)).await;
            Ok(())
        });
    }
    for watcher in 1..=WATCHERS {
        let (seed, progress) = (rng.random(), progress.clone());
        let env = env(seed, 0, trace.clone());
        let watching = Watcher { seed, nodes, writers: WRITERS, env, progress, until };
        sim.client(format!("watcher{watcher}"), async move {
            Box::pin(workload::watch(watching)).await;
            Ok(())
        });
    }
}

/// The hosts of the clients.
fn clients() -> Vec<String> {
    let writers = (1..=WRITERS).map(|client| format!("writer{client}"));
    writers.chain((1..=WATCHERS).map(|watcher| format!("watcher{watcher}"))).collect()
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
    operator: Operator,
    faults: Faults,
    samples: Samples,
    steps: u64,
}

impl Driver<'_> {
    /// Until the clients are content and the nodes equal, or time is up.
    fn drive(&mut self, until: Duration) -> Result<(), Box<dyn Error>> {
        let mut healed = false;
        loop {
            determinism::advance(self.sim.elapsed());
            let content = self.sim.step()?;
            self.steps += 1;
            self.faults.step(&mut self.sim, &self.cluster);
            self.operator.step(&mut self.sim, &self.cluster)?;
            if !healed && self.sim.elapsed() >= until {
                healed = true;
                tracing::info!("healing");
                self.faults.heal(&mut self.sim, &self.cluster);
                self.operator.heal();
            }
            if self.steps.is_multiple_of(SAMPLE_STEPS) {
                self.sample();
            }
            if (content && self.equal()) || self.sim.elapsed() >= until + HEALING {
                self.sample();
                return Ok(());
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

    /// Whether all that shall be members are, and have the same.
    fn equal(&self) -> bool {
        let revisions: Vec<Revision> =
            self.replicas().iter().map(|(_, replica)| replica.snapshot().revision()).collect();
        self.operator.is_content(&self.cluster) && revisions.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn report(mut self, records: &Records, trace: &Trace) -> Result<Report, Box<dyn Error>> {
        let mut violations = self.faults.violations();
        if !self.equal() {
            violations.push(format!("liveness: the nodes are not equal {HEALING:?} after the faults"));
        }
        let mut histories = Vec::new();
        for (id, replica) in self.replicas() {
            match history(&replica) {
                Ok(history) => histories.push((id, history)),
                Err(error) => violations.push(format!("history: node {id}: {error}")),
            }
        }
        violations.extend(checkers::check(&histories, records, &self.samples));
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
        let figures = [("leaderships", leaders as u64), ("states compared", states as u64)];
        let more = [
            ("node starts", starts),
            ("damaged disks refused", self.faults.refusals()),
            ("revisions", revisions as u64),
        ];
        report.counts = counts(records);
        report.counts.extend(self.operator.counts().iter().map(|(name, count)| ((*name).to_owned(), *count)));
        report.counts.extend(figures.into_iter().chain(more).map(|(name, count)| (name.to_owned(), count)));
        let logs = self.cluster.logs(report.trace);
        drop(self);
        report.violations.extend(checkers::logs::check(&logs)?);
        Ok(report)
    }
}

/// Everything that the node ever committed.
fn history(replica: &Replica) -> Result<Vec<Arc<Batch>>, quorate_store::HistoryError> {
    let mut watch = replica.watch(Bytes::new(), Revision::ZERO)?;
    let mut batches: Vec<Arc<Batch>> = Vec::new();
    while let Some(found) = watch.try_next()? {
        batches.push(found.batch().clone());
    }
    Ok(batches)
}

fn counts(records: &Records) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    let mut count = |name: &str, by: usize| *counts.entry(name.to_owned()).or_default() += by as u64;
    for record in &records.records {
        match &record.what {
            What::Txn(_, Decision::Decided(Outcome::Committed { .. })) => count("committed", 1),
            What::Txn(_, Decision::Decided(Outcome::Conflict { .. })) => count("conflicts", 1),
            What::Txn(_, Decision::Refused) => count("refused", 1),
            What::Txn(_, Decision::Unknown) => count("unknown", 1),
            What::Read { .. } => count("reads", 1),
        }
    }
    for watch in &records.watches {
        count("watch batches", watch.batches.len());
    }
    counts
}
