//! The nodes: production replicas on turmoil hosts, their simulated disks, and how they are killed, started again and replaced.
//!
//! Invariants: a host keeps its name, and so its address, whoever runs on it; when the power goes its disk, which log and state share, loses
//! of what was not synced whatever the seed says.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use quorate_env::disk::MemoryDisk;
use quorate_raft::replica::{Compaction, Timing};
use quorate_raft::types::Peer;
use quorate_raft::{ClusterId, PeerTls, Replica};
use quorate_store::{NodeId, Retention, Store};
use turmoil::Sim;

use crate::api::ApiPlan;
use crate::broken::Broken;
use crate::checkers::logs::Found;
use crate::damage::{Damage, damage};
use crate::env::SimulatedClock;
use crate::node::{Life, Member, Node, Order, PEER_PORT};
use crate::pki::Authority;
use crate::trace::Trace;

/// The number of a host that nodes run on. The founders' numbers as members are those of their seats; later members have numbers of
/// their own.
pub(crate) type Seat = u64;

/// What a cluster is made of.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Members that vote, from the start; they have the first seats.
    pub(crate) voters: u64,
    /// Seats that shall have a member: after the voters come learners.
    pub(crate) nodes: u64,
    /// All seats.
    pub(crate) seats: u64,
    pub(crate) compaction: Compaction,
    /// Bytes of a grown segment of the log.
    pub(crate) segment_bytes: u64,
    pub(crate) timing: Timing,
    pub(crate) retention: Retention,
    /// How long syncs of the logs' disks usually take.
    pub(crate) sync: Duration,
    pub(crate) broken: Option<Broken>,
    pub(crate) trace: Trace,
    /// With this, nodes serve the API; else the store, through the gateway.
    pub(crate) api: Option<Arc<ApiPlan>>,
}

/// All nodes of a run.
pub(crate) struct Cluster {
    authority: Authority,
    id: Mutex<ClusterId>,
    nodes: BTreeMap<Seat, Arc<Node>>,
    calm: AtomicBool,
}

impl Cluster {
    /// Makes the nodes and registers their hosts. The founders found the cluster by themselves.
    pub(crate) fn start(sim: &mut Sim<'_>, plan: Plan) -> Result<Self, Box<dyn std::error::Error>> {
        let plan = Arc::new(plan);
        let authority = Authority::new()?;
        let id = ClusterId::new(u128::from(plan.seed).to_be_bytes());
        let mut nodes = BTreeMap::new();
        for seat in 1..=plan.seats {
            let mut life = Life::default();
            if seat <= plan.voters {
                let tls = Arc::new(PeerTls::new(&authority.member(id, seat)?)?);
                life.member = Some(Member { node: seat, cluster: id, tls, founder: true });
            }
            let clock = SimulatedClock::wrong_by(seat * 137);
            let node = Arc::new(Node { seat, plan: plan.clone(), clock, life: Mutex::new(life) });
            node.usual_sync();
            nodes.insert(seat, node.clone());
            sim.host(host(seat), move || {
                let node = node.clone();
                async move {
                    node.run().await;
                    Ok(())
                }
            });
        }
        Ok(Self { authority, id: Mutex::new(id), nodes, calm: AtomicBool::new(false) })
    }

    /// Whether the node's process runs, or is in the middle of starting.
    pub(crate) fn runs(&self, sim: &mut Sim<'_>, seat: Seat) -> bool {
        self.member(seat).is_some() && sim.is_host_running(host(seat))
    }

    /// The process dies. What it had written is in the system's cache.
    pub(crate) fn kill(&self, sim: &mut Sim<'_>, seat: Seat) {
        self.nodes[&seat].forget();
        sim.crash(host(seat));
    }

    /// The power goes.
    pub(crate) fn cut_power(&self, sim: &mut Sim<'_>, seat: Seat, seed: u64) {
        self.kill(sim, seat);
        let mut life = self.nodes[&seat].life.lock();
        life.disk = life.disk.crash(seed);
        drop(life);
        self.usual_sync(seat);
    }

    /// The next sync of the node's state fails, or need not any more.
    pub(crate) fn fail_state_sync(&self, seat: Seat, fails: bool) {
        let state = self.member(seat).map(|node| Path::new(&folder(seat, node)).join("state"));
        self.disk(seat).fail_next_sync_in(state.filter(|_| fails));
    }

    /// Syncs of the node's log take as long as they usually do.
    pub(crate) fn usual_sync(&self, seat: Seat) {
        self.nodes[&seat].usual_sync();
    }

    /// The process starts again; nothing when nobody has the seat.
    pub(crate) fn restart(&self, sim: &mut Sim<'_>, seat: Seat) {
        if self.member(seat).is_some() {
            self.forget_end(seat);
            sim.bounce(host(seat));
        }
    }

    /// A new member takes a seat, and starts.
    pub(crate) fn seat(&self, sim: &mut Sim<'_>, seat: Seat, node: NodeId) -> Result<(), Box<dyn std::error::Error>> {
        self.vacate(sim, seat);
        self.take(seat, node)?;
        self.restart(sim, seat);
        Ok(())
    }

    fn take(&self, seat: Seat, node: NodeId) -> Result<(), Box<dyn std::error::Error>> {
        let cluster = self.id();
        let tls = Arc::new(PeerTls::new(&self.authority.member(cluster, node)?)?);
        self.nodes[&seat].life.lock().member = Some(Member { node, cluster, tls, founder: false });
        Ok(())
    }

    /// The cluster that counts now.
    pub(crate) fn id(&self) -> ClusterId {
        *self.id.lock()
    }

    /// Whoever has the seat, and does not run, is the first member of a new cluster, and starts.
    pub(crate) fn refound(
        &self,
        sim: &mut Sim<'_>,
        seat: Seat,
        cluster: ClusterId,
    ) -> Result<(), Box<dyn std::error::Error>> {
        *self.id.lock() = cluster;
        if let Some(node) = self.member(seat) {
            self.take(seat, node)?;
        }
        self.restart(sim, seat);
        Ok(())
    }

    /// Whether whoever has the seat belongs to a cluster that was given up.
    fn is_foreign(&self, seat: Seat) -> bool {
        let cluster = self.id();
        self.nodes[&seat].life.lock().member.as_ref().is_some_and(|member| member.cluster != cluster)
    }

    /// Whoever has the seat is gone for ever, with everything that it had.
    pub(crate) fn vacate(&self, sim: &mut Sim<'_>, seat: Seat) {
        self.kill(sim, seat);
        {
            let mut life = self.nodes[&seat].life.lock();
            let member = life.member.take();
            life.former.extend(member.map(|member| member.node));
            (life.disk, life.ended, life.quarantined) = (MemoryDisk::new(), None, false);
            (life.backup, life.went_back) = (None, false);
        }
        self.usual_sync(seat);
    }

    /// The power goes, a file of the member decays, and the member starts again in quarantine. `None` when nobody has the seat, or has
    /// nothing to decay.
    pub(crate) fn decay(&self, sim: &mut Sim<'_>, seat: Seat, seed: u64) -> io::Result<Option<Damage>> {
        let Some(node) = self.member(seat) else { return Ok(None) };
        self.cut_power(sim, seat, seed);
        let damage = damage(&self.disk(seat), &folder(seat, node), seed)?;
        if let Some(Damage { kind, place }) = &damage {
            tracing::info!(seat, kind, place, "decay");
        }
        self.nodes[&seat].life.lock().quarantined = true;
        self.restart(sim, seat);
        Ok(damage)
    }

    /// Copies the disk of a member, which may run.
    pub(crate) fn back_up(&self, seat: Seat) {
        if self.member(seat).is_some() {
            let copy = self.disk(seat).copy();
            self.nodes[&seat].life.lock().backup = Some((copy, self.others(seat)));
        }
    }

    /// The process dies, and finds the copy of its disk when it starts again. False, and nothing, when another process was started since the
    /// copy was made: it may have forgotten what it saw.
    pub(crate) fn go_back(&self, sim: &mut Sim<'_>, seat: Seat) -> bool {
        let backup = self.nodes[&seat].life.lock().backup.take();
        let Some((disk, others)) = backup.filter(|_| self.member(seat).is_some()) else { return false };
        if others != self.others(seat) || !self.runs(sim, seat) {
            return false;
        }
        self.kill(sim, seat);
        {
            let mut life = self.nodes[&seat].life.lock();
            (life.disk, life.went_back) = (disk, true);
        }
        self.usual_sync(seat);
        true
    }

    /// How often each other process was started.
    fn others(&self, seat: Seat) -> Vec<u64> {
        self.seats().filter(|other| *other != seat).map(|other| self.starts(other)).collect()
    }

    /// Whether the disk of whoever has the seat counts no longer.
    pub(crate) fn is_lost(&self, seat: Seat) -> bool {
        self.quarantined(seat) || self.went_back(seat)
    }

    /// Whether whoever has the seat has an older copy of its disk.
    pub(crate) fn went_back(&self, seat: Seat) -> bool {
        self.nodes[&seat].life.lock().went_back
    }

    /// Nothing may go wrong for a moment, or may again.
    pub(crate) fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// Whether nothing may go wrong just now.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Whether whoever has the seat is in quarantine.
    pub(crate) fn quarantined(&self, seat: Seat) -> bool {
        self.nodes[&seat].life.lock().quarantined
    }

    /// The number of the member that has the seat.
    pub(crate) fn member(&self, seat: Seat) -> Option<NodeId> {
        self.nodes[&seat].life.lock().member.as_ref().map(|member| member.node)
    }

    /// Whether this member had the seat once.
    pub(crate) fn had(&self, seat: Seat, node: NodeId) -> bool {
        self.nodes[&seat].life.lock().former.contains(&node)
    }

    /// The end of the process has been dealt with.
    pub(crate) fn forget_end(&self, seat: Seat) {
        self.nodes[&seat].life.lock().ended = None;
    }

    /// The node's disk.
    pub(crate) fn disk(&self, seat: Seat) -> MemoryDisk {
        self.nodes[&seat].life.lock().disk.clone()
    }

    /// Why the node's process has ended by itself, if it has.
    pub(crate) fn ended(&self, seat: Seat) -> Option<String> {
        self.nodes[&seat].life.lock().ended.clone()
    }

    /// The node's replica, while it is open, if it belongs to the cluster.
    pub(crate) fn replica(&self, seat: Seat) -> Option<Replica> {
        if self.is_foreign(seat) {
            return None;
        }
        self.nodes[&seat].life.lock().replica.clone()
    }

    /// The seat of the member that leads, and its replica. If several think so, the one with the newest term.
    pub(crate) fn leader(&self) -> Option<(Seat, Replica)> {
        let replicas = self.seats().filter_map(|seat| Some((seat, self.replica(seat)?)));
        let leading = replicas.filter(|(_, replica)| replica.is_leader());
        leading.max_by_key(|(_, replica)| replica.status().term)
    }

    /// The members' logs, each on a disk that is made of the member's own.
    pub(crate) fn logs(&self, disk: impl Fn(MemoryDisk) -> MemoryDisk) -> Vec<Found> {
        let found = |seat: Seat| {
            let (node, committed) = (self.member(seat)?, self.replica(seat)?.positions().committed);
            let disk = disk(self.disk(seat));
            Some(Found { node, cluster: self.id(), disk, folder: format!("{}/log", folder(seat, node)), committed })
        };
        self.seats().filter_map(found).collect()
    }

    /// Tells a running process something; nothing when it does not run.
    pub(crate) fn order(&self, seat: Seat, order: Order) {
        if let Some(orders) = &self.nodes[&seat].life.lock().orders {
            // A process that is ending takes no orders.
            orders.send(order).ok();
        }
    }

    /// The node's wall clock gains so much in every second from now on, milliseconds.
    pub(crate) fn set_drift(&self, seat: Seat, gains_ms: i64) {
        self.nodes[&seat].clock.set_drift(gains_ms);
    }

    /// The node's wall clock jumps.
    pub(crate) fn turn_clock(&self, seat: Seat, by_ms: i64) {
        self.nodes[&seat].clock.turn(by_ms);
    }

    /// All seats.
    pub(crate) fn seats(&self) -> impl Iterator<Item = Seat> + '_ {
        self.nodes.keys().copied()
    }

    /// How often the node was started.
    pub(crate) fn starts(&self, seat: Seat) -> u64 {
        self.nodes[&seat].life.lock().starts
    }
}

/// The host name of a seat.
pub(crate) fn host(seat: Seat) -> String {
    format!("n{seat}")
}

/// Where a member keeps its data.
pub(crate) fn folder(seat: Seat, node: NodeId) -> String {
    format!("{}-{node}", host(seat))
}

/// The addresses of whoever has a seat.
pub(crate) fn peer(seat: Seat) -> Peer {
    Peer { address: format!("{}:{PEER_PORT}", host(seat)), api: String::new() }
}
