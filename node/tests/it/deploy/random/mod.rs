//! Random faults: a cluster of containers while clients write and watch, a controller of kube-rs
//! works and `quorate bench` measures.
//!
//! `QUORATE_FAULTS` says how many there are (5) and `QUORATE_FAULT_SEED` which (1). At the end
//! nothing that was acknowledged is lost on any node, no watch has missed anything, the controller
//! has done what is wanted, and the trace of a write shows the failover that it went through.

mod bench;
mod looms;
mod plan;
mod traced;

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use self::bench::Bench;
use self::looms::Weaver;
use self::plan::{PlannedFault, Target, plan};
use self::traced::{PastFault, TracedWriters};
use super::{NODES, PAUSE, with_disks};
use crate::informers::Informer;
use crate::load::{Load, collection, make_namespace};
use crate::support::{API_NODE, Balancer, Collector, Compose, VOTERS, Watcher, eventually, skip};

/// How many faults there are, and which.
const COUNT: &str = "QUORATE_FAULTS";
const SEED: &str = "QUORATE_FAULT_SEED";
/// How many, and which, where nothing is said.
const FEW: usize = 5;
const USUAL_SEED: u64 = 1;
/// Writes that are acknowledged during each fault, and between its end and the next one.
const DURING: u64 = 20;
const CALM: u64 = 60;
/// How long all writes may stand still for one fault, on a machine that runs other tests as well.
const LONGEST_OUTAGE: Duration = Duration::from_secs(8);
/// A pause of this length between acknowledgements counts as time without answers.
const OUTAGE: Duration = Duration::from_secs(1);
/// Where `.ci/tools` puts the informer of kube-rs, below the workspace.
const INFORMER: &str = "target/tools/kube-informer";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_containers_survives_random_faults() {
    for program in [looms::PROGRAM, INFORMER] {
        if !in_workspace(program).exists() {
            return skip(&format!("no {program}; run .ci/tools"));
        }
    }
    let Some(compose) = Compose::find() else { return };
    let begin = Instant::now();
    let count = variable(COUNT).unwrap_or(FEW);
    let seed: u64 = variable(SEED).unwrap_or(USUAL_SEED);
    println!("{COUNT}={count} {SEED}={seed}");
    let (collector, endpoint) = Collector::start(compose.host()).await;
    let option = format!("--otlp-endpoint=http://{endpoint}");
    let compose = compose.with("QUORATE_OPTION", &option).with("QUORATE_NAMING", "kubernetes");
    let compose = with_disks(compose);
    compose.build_image();
    compose.up().await;
    println!("{:6.1} s  the cluster is up", begin.elapsed().as_secs_f64());
    let work = Work::start(&compose, seed).await;
    let mut faults = vec![];
    for (number, planned) in plan(seed, count, compose.disks().is_some()).iter().enumerate() {
        let past = work.survive(&compose, planned).await;
        println!(
            "{:6.1} s  fault {}: {:?} of {:?}, node {}; it took {:.1} s",
            begin.elapsed().as_secs_f64(),
            number + 1,
            planned.fault,
            planned.target,
            past.node,
            (past.end - past.begin).as_secs_f64(),
        );
        faults.push(past);
    }
    work.finish(&compose, &faults, &collector).await;
    println!("{:6.1} s  nothing is lost", begin.elapsed().as_secs_f64());
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn in_workspace(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// All that goes on while the faults come.
struct Work {
    load: Load,
    watchers: Vec<Watcher>,
    informer: Informer,
    traced: TracedWriters,
    bench: Bench,
    weaver: Weaver,
    /// Ends with the test, as the load balancer does.
    _controller: Child,
    _balancer: Balancer,
}

impl Work {
    async fn start(compose: &Compose, seed: u64) -> Self {
        let mut client = compose.client(1);
        make_namespace(&mut client, traced::NAMESPACE).await;
        let begin = make_namespace(&mut client, "load").await;
        let nodes = NODES.map(|node| {
            let (address, folder) = (compose.address(node), compose.credentials().to_owned());
            let probe = address.clone();
            (address, move || crate::support::Client::new(&probe, &folder, "admin"))
        });
        let balancer = Balancer::checking(nodes.into()).await;
        let watchers = NODES.map(|first| {
            let turns = (0..4).map(|step| compose.client((first + step - 1) % 4 + 1));
            Watcher::start(turns.collect(), &collection("load"), begin)
        });
        let mut command = Command::new(in_workspace(INFORMER));
        command.arg(compose.credentials().join("admin.kubeconfig"));
        command.args([balancer.address(), "load", "stream"]);
        let mut informer = Informer::start("kube-rs", "", command);
        informer.listed(1).await;
        let controller = looms::start_controller(compose, balancer.address());
        let weaver = Weaver::start(compose, seed).await;
        let load = Load::with(|node| compose.client(node), &NODES, "load", PAUSE);
        let bench = Bench::start(compose, balancer.address());
        let traced = TracedWriters::start(compose, seed);
        let (_controller, _balancer, watchers) = (controller, balancer, watchers.into());
        Self { load, watchers, informer, traced, bench, weaver, _controller, _balancer }
    }

    /// One fault, and the return to a cluster in which everything is well. Gives whose it was.
    async fn survive(&self, compose: &Compose, planned: &PlannedFault) -> PastFault {
        self.load.goes_on(CALM).await;
        let leader = compose.leader(1).await;
        let node = match planned.target {
            Target::Leader => leader,
            Target::Follower(which) => {
                VOTERS.into_iter().filter(|node| *node != leader).nth(which).unwrap()
            }
            Target::Api => API_NODE,
        };
        let begin = Instant::now();
        let meanwhile = async || {
            tokio::time::sleep(planned.hold).await;
            self.load.goes_on(DURING).await;
        };
        planned.fault.inflict(compose, node, meanwhile).await;
        for node in NODES {
            compose.ready(node).await;
        }
        self.load.goes_on(DURING).await;
        PastFault { node, begin, end: Instant::now() }
    }

    /// Ends all of it and checks what it has seen.
    async fn finish(mut self, compose: &Compose, faults: &[PastFault], collector: &Collector) {
        let written = self.load.finish().await;
        let traced = self.traced.finish(compose).await;
        let measured = self.bench.finish().await;
        let changes = self.weaver.finish(compose).await;
        println!(
            "{} writes acknowledged and {} of unknown outcome; {} traced; {changes} changes for the controller",
            written.revisions.len(),
            written.unknown,
            traced.len(),
        );
        println!("{measured:?}");
        assert_eq!(written.refused, []);
        assert!(measured.operations > 0, "{measured:?}");
        for (number, fault) in faults.iter().enumerate() {
            let outage = written.longest_outage(fault.begin, fault.end);
            println!("fault {}: {:.2} s without a write", number + 1, outage.as_secs_f64());
            assert!(outage < LONGEST_OUTAGE, "writes stood still for {outage:?}");
        }
        println!("{:.1} s without answers in all", written.outages(OUTAGE).as_secs_f64());
        for node in NODES {
            written.check_is_there(&mut compose.client(node), "load").await;
        }
        check_same_everywhere(compose).await;
        for watcher in &mut self.watchers {
            written.check_was_seen(&watcher.until(written.last()).await);
        }
        self.informer.agrees(&mut compose.client(API_NODE), &collection("load")).await;
        println!("the informer has listed {} times", self.informer.lists());
        self.informer.finish().await.check_order("kube-rs", false);
        // The first fault kills the leader.
        faults[0].check_is_told(&traced, collector).await;
    }
}

/// All nodes list the same objects at the same revision.
async fn check_same_everywhere(compose: &Compose) {
    eventually("all nodes list the same", async || {
        let mut lists = vec![];
        for node in NODES {
            let list = compose.client(node).get(&collection("load")).await.expect(200);
            lists.push(list.body["items"].clone());
        }
        lists.windows(2).all(|pair| pair[0] == pair[1]).then_some(())
    })
    .await;
}
