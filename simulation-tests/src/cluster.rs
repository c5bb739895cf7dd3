//! The nodes: production replicas on turmoil hosts, their simulated disks, and how they are killed and started again.
//!
//! Invariants: a node's certificates and settings stay over restarts; its log's disk loses what was not synced when the power goes;
//! its state's folder is a real one and loses nothing (as if the system had written it back in time).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_raft::disk::MemoryDisk;
use quorate_raft::replica::{Compaction, MemberOptions, Options};
use quorate_raft::state_machine::Saving;
use quorate_raft::types::Peer;
use quorate_raft::{ClusterId, PeerTls, Replica};
use quorate_store::{NodeId, Retention};
use tokio::sync::mpsc;
use turmoil::Sim;

use crate::broken::{self, Broken};
use crate::env::{SimulatedClock, env_with};
use crate::gateway::{self, CLIENT_PORT};
use crate::pki::{Authority, NoSigner};
use crate::trace::Trace;

/// Where nodes listen for peers.
const PEER_PORT: u16 = 7000;
/// Groups that a crash takes back from the state at most; the log gives them again.
const UNSAVED_GROUPS: usize = 8;
/// Short segments, so that the log goes through many of them; bytes.
const SEGMENT_BYTES: u64 = 64 << 10;
const FIRST_SEGMENT_BYTES: u64 = 16 << 10;
/// Longer than any run, so that the checkers can read everything in the end; milliseconds.
const RETENTION_MS: u64 = 24 * 3600 * 1000;

/// What a cluster is made of.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: u64,
    pub(crate) compaction: Compaction,
    /// How long syncs of the logs' disks usually take.
    pub(crate) sync: Duration,
    pub(crate) broken: Option<Broken>,
    pub(crate) trace: Trace,
}

/// All nodes of a run.
pub(crate) struct Cluster {
    nodes: BTreeMap<NodeId, Arc<Node>>,
}

/// One node, over all its restarts.
struct Node {
    id: NodeId,
    plan: Arc<Plan>,
    cluster: ClusterId,
    tls: Arc<PeerTls>,
    clock: Arc<SimulatedClock>,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    disk: MemoryDisk,
    replica: Option<Replica>,
    starts: u64,
    /// Why the process ended by itself.
    ended: Option<String>,
    /// Where orders to the process go, while it runs.
    orders: Option<mpsc::UnboundedSender<Order>>,
}

/// What a running process is told from outside, as no client could.
#[derive(Debug)]
pub(crate) enum Order {
    /// All its timers see this much time go by at once.
    Jump(Duration),
}

impl Cluster {
    /// Makes the nodes and registers their hosts. They found the cluster by themselves.
    pub(crate) fn start(sim: &mut Sim<'_>, plan: Plan) -> Result<Self, Box<dyn std::error::Error>> {
        let plan = Arc::new(plan);
        let authority = Authority::new()?;
        let cluster = ClusterId::new(u128::from(plan.seed).to_be_bytes());
        let mut nodes = BTreeMap::new();
        for id in 1..=plan.nodes {
            let tls = Arc::new(PeerTls::new(&authority.member(cluster, id)?)?);
            let node = Arc::new(Node {
                id,
                plan: plan.clone(),
                cluster,
                tls,
                clock: SimulatedClock::wrong_by(id * 137),
                life: Mutex::default(),
            });
            node.usual_sync();
            nodes.insert(id, node.clone());
            sim.host(host(id), move || {
                let node = node.clone();
                async move {
                    node.run().await;
                    Ok(())
                }
            });
        }
        Ok(Self { nodes })
    }

    /// Whether the node's process runs, or is in the middle of starting.
    pub(crate) fn runs(&self, sim: &mut Sim<'_>, id: NodeId) -> bool {
        sim.is_host_running(host(id))
    }

    /// The process dies. What it had written is in the system's cache.
    pub(crate) fn kill(&self, sim: &mut Sim<'_>, id: NodeId) {
        self.nodes[&id].forget();
        sim.crash(host(id));
    }

    /// The power goes: the log's disk loses of what was not synced whatever the seed says.
    pub(crate) fn cut_power(&self, sim: &mut Sim<'_>, id: NodeId, seed: u64) {
        self.kill(sim, id);
        let mut life = self.nodes[&id].life.lock();
        life.disk = life.disk.crash(seed);
        drop(life);
        self.usual_sync(id);
    }

    /// Syncs of the node's log take as long as they usually do.
    pub(crate) fn usual_sync(&self, id: NodeId) {
        self.nodes[&id].usual_sync();
    }

    /// The process starts again.
    pub(crate) fn restart(&self, sim: &mut Sim<'_>, id: NodeId) {
        self.forget_end(id);
        sim.bounce(host(id));
    }

    /// The end of the process has been dealt with.
    pub(crate) fn forget_end(&self, id: NodeId) {
        self.nodes[&id].life.lock().ended = None;
    }

    /// The disk of the node's log.
    pub(crate) fn disk(&self, id: NodeId) -> MemoryDisk {
        self.nodes[&id].life.lock().disk.clone()
    }

    /// Why the node's process has ended by itself, if it has.
    pub(crate) fn ended(&self, id: NodeId) -> Option<String> {
        self.nodes[&id].life.lock().ended.clone()
    }

    /// The node's replica, while it is open.
    pub(crate) fn replica(&self, id: NodeId) -> Option<Replica> {
        self.nodes[&id].life.lock().replica.clone()
    }

    /// Tells a running process something; nothing when it does not run.
    pub(crate) fn order(&self, id: NodeId, order: Order) {
        if let Some(orders) = &self.nodes[&id].life.lock().orders {
            // A process that is ending takes no orders.
            orders.send(order).ok();
        }
    }

    /// The node's wall clock jumps.
    pub(crate) fn turn_clock(&self, id: NodeId, by_ms: i64) {
        self.nodes[&id].clock.turn(by_ms);
    }

    /// The numbers of all hosts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.keys().copied()
    }

    /// The numbers of all nodes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.keys().copied()
    }

    /// How often the node was started.
    pub(crate) fn starts(&self, id: NodeId) -> u64 {
        self.nodes[&id].life.lock().starts
    }
}

/// The host name of a node.
pub(crate) fn host(id: NodeId) -> String {
    format!("n{id}")
}

impl Node {
    fn usual_sync(&self) {
        self.life.lock().disk.set_sync_delay(self.plan.sync);
    }

    async fn run(&self) {
        let reason = match Box::pin(self.serve()).await {
            Ok(reason) | Err(reason) => reason,
        };
        self.forget();
        self.life.lock().ended = Some(reason);
    }

    /// The process is gone.
    fn forget(&self) {
        let mut life = self.life.lock();
        (life.replica, life.orders) = (None, None);
    }

    /// Why the node stops, as an error when it could not start.
    async fn serve(&self) -> Result<String, String> {
        let options = self.options();
        let network = options.env.network.clone();
        let replica = Replica::open(options).await.map_err(|error| format!("cannot start: {error}"))?;
        self.life.lock().replica = Some(replica.clone());
        if self.id == 1 {
            let peer = |id| Peer { address: format!("{}:{PEER_PORT}", host(id)), api: String::new() };
            let members = (1..=self.plan.nodes).map(|id| (id, peer(id))).collect();
            replica.initialize(members).await.map_err(|error| format!("cannot found the cluster: {error}"))?;
        }
        let serving = async {
            replica.recovered().await;
            let listener = network.listen(&format!("0.0.0.0:{CLIENT_PORT}")).await.map_err(|e| e.to_string())?;
            gateway::serve(listener, broken::store(self.plan.broken, Arc::new(replica.clone())), self.plan.broken)
                .await;
            Err("the listener for clients ended".to_owned())
        };
        tokio::select! {
            reason = replica.failed() => Ok(reason),
            ended = serving => ended,
            ended = self.obey() => ended,
        }
    }

    /// Carries out orders.
    async fn obey(&self) -> Result<String, String> {
        let (sender, mut orders) = mpsc::unbounded_channel();
        self.life.lock().orders = Some(sender);
        while let Some(order) = orders.recv().await {
            match order {
                Order::Jump(by) => tokio::time::advance(by).await,
            }
        }
        Err("nobody gives orders any more".to_owned())
    }

    fn options(&self) -> Options {
        let (disk, start) = {
            let mut life = self.life.lock();
            life.starts += 1;
            (life.disk.clone(), life.starts)
        };
        let seed = self.plan.seed ^ (self.id << 32) ^ (start << 40);
        let member = MemberOptions {
            node: self.id,
            cluster: self.cluster,
            naming: "svc".to_owned(),
            listen: format!("0.0.0.0:{PEER_PORT}"),
            env: env_with(self.clock.clone(), seed, self.plan.trace.clone()),
            tls: self.tls.clone(),
            signer: Arc::new(NoSigner),
        };
        let disk = broken::disk(self.plan.broken, disk);
        let mut options = Options::new(member, disk, Path::new(&host(self.id)));
        options.log.segment_bytes = SEGMENT_BYTES;
        options.log.first_segment_bytes = FIRST_SEGMENT_BYTES;
        options.state.worker_threads = 0;
        options.state.saving = Saving::Every(UNSAVED_GROUPS);
        options.state.retention = Retention { time_ms: RETENTION_MS, ..Retention::default() };
        options.compaction = self.plan.compaction;
        options
    }
}
