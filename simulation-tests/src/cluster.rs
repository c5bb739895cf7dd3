//! The simulated cluster: production replicas on turmoil hosts with simulated disks, killed,
//! restarted and replaced by the test.
//!
//! Invariants: a host keeps its name, and so its address, over all members that run on it; a power
//! cut takes from its disk, which log and state share, a part of what was not synced, chosen by the
//! seed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use quorate_env::disk::MemoryDisk;
use quorate_raft::{ClusterId, PeerTls, Replica};
use quorate_store::{NodeId, Store};
use turmoil::Sim;

use crate::archive_folder::ArchiveFolder;
use crate::checkers::logs::MemberLog;
use crate::damage::{Damage, damage};
use crate::env::SimulatedClock;
use crate::node::{Command, Member, Node, Process};
use crate::pki::Authority;
use crate::plan::Plan;
use crate::topology::{HostId, folder, host_name};

/// All nodes of a run.
pub(crate) struct Cluster {
    authority: Authority,
    id: Mutex<ClusterId>,
    nodes: BTreeMap<HostId, Arc<Node>>,
    calm: AtomicBool,
}

impl Cluster {
    /// Makes the nodes and registers their hosts. The founders found the cluster by themselves.
    pub(crate) fn start(sim: &mut Sim<'_>, plan: Plan) -> Result<Self, Box<dyn std::error::Error>> {
        let plan = Arc::new(plan);
        let authority = Authority::new()?;
        let id = ClusterId::new(u128::from(plan.seed).to_be_bytes());
        let mut nodes = BTreeMap::new();
        for host in 1..=plan.hosts {
            let mut process = Process::default();
            if host <= plan.voters {
                let tls = Arc::new(PeerTls::new(&authority.member(id, host)?)?);
                process.member = Some(Member { node: host, cluster: id, tls, founder: true });
            }
            let clock = SimulatedClock::wrong_by(host * 137);
            let node =
                Arc::new(Node { host, plan: plan.clone(), clock, process: Mutex::new(process) });
            node.usual_sync();
            nodes.insert(host, node.clone());
            sim.host(host_name(host), move || {
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
    pub(crate) fn runs(&self, sim: &mut Sim<'_>, host: HostId) -> bool {
        self.member(host).is_some() && sim.is_host_running(host_name(host))
    }

    /// Kills the process. What it had written is in the system's cache.
    pub(crate) fn kill(&self, sim: &mut Sim<'_>, host: HostId) {
        self.nodes[&host].forget();
        sim.crash(host_name(host));
    }

    /// The power goes.
    pub(crate) fn cut_power(&self, sim: &mut Sim<'_>, host: HostId, seed: u64) {
        self.kill(sim, host);
        let mut process = self.nodes[&host].process.lock();
        process.disk = process.disk.crash(seed);
        drop(process);
        self.usual_sync(host);
    }

    /// The next sync of the node's state fails, or need not any more.
    pub(crate) fn fail_state_sync(&self, host: HostId, fails: bool) {
        let state = self.member(host).map(|node| Path::new(&folder(host, node)).join("state"));
        self.disk(host).fail_next_sync_in(state.filter(|_| fails));
    }

    /// Syncs of the node's log take as long as they usually do.
    pub(crate) fn usual_sync(&self, host: HostId) {
        self.nodes[&host].usual_sync();
    }

    /// Starts the process again; does nothing when the host has no member.
    pub(crate) fn restart(&self, sim: &mut Sim<'_>, host: HostId) {
        if self.member(host).is_some() {
            self.forget_end(host);
            sim.bounce(host_name(host));
        }
    }

    /// Puts a new member on a host, and starts it.
    pub(crate) fn install(
        &self,
        sim: &mut Sim<'_>,
        host: HostId,
        node: NodeId,
    ) -> Result<(), Box<dyn std::error::Error>> {
        self.vacate(sim, host);
        self.take(host, node)?;
        self.restart(sim, host);
        Ok(())
    }

    fn take(&self, host: HostId, node: NodeId) -> Result<(), Box<dyn std::error::Error>> {
        let cluster = self.id();
        let tls = Arc::new(PeerTls::new(&self.authority.member(cluster, node)?)?);
        self.nodes[&host].process.lock().member =
            Some(Member { node, cluster, tls, founder: false });
        Ok(())
    }

    /// The cluster that counts now.
    pub(crate) fn id(&self) -> ClusterId {
        *self.id.lock()
    }

    /// Makes the host's member, which does not run, the first member of a new cluster, and starts
    /// it.
    pub(crate) fn refound(
        &self,
        sim: &mut Sim<'_>,
        host: HostId,
        cluster: ClusterId,
    ) -> Result<(), Box<dyn std::error::Error>> {
        *self.id.lock() = cluster;
        if let Some(node) = self.member(host) {
            self.take(host, node)?;
        }
        self.restart(sim, host);
        Ok(())
    }

    /// Whether the host's member belongs to a cluster that was given up.
    fn is_foreign(&self, host: HostId) -> bool {
        let cluster = self.id();
        self.nodes[&host]
            .process
            .lock()
            .member
            .as_ref()
            .is_some_and(|member| member.cluster != cluster)
    }

    /// Removes the host's member for ever, with its disk.
    pub(crate) fn vacate(&self, sim: &mut Sim<'_>, host: HostId) {
        self.kill(sim, host);
        {
            let mut process = self.nodes[&host].process.lock();
            let member = process.member.take();
            process.former.extend(member.map(|member| member.node));
            (process.disk, process.ended, process.quarantined) = (MemoryDisk::new(), None, false);
            process.archive = ArchiveFolder::default();
            (process.backup, process.went_back) = (None, false);
        }
        self.usual_sync(host);
    }

    /// The power goes, a file of the member decays, and the member starts again in quarantine.
    /// `None` when the host has no member, or the member has nothing to decay.
    pub(crate) fn decay(
        &self,
        sim: &mut Sim<'_>,
        host: HostId,
        seed: u64,
    ) -> io::Result<Option<Damage>> {
        let Some(node) = self.member(host) else {
            return Ok(None);
        };
        self.cut_power(sim, host, seed);
        let damage = damage(&self.disk(host), &folder(host, node), seed)?;
        if let Some(Damage { kind, place }) = &damage {
            tracing::info!(host, kind, place, "decay");
        }
        self.nodes[&host].process.lock().quarantined = true;
        self.restart(sim, host);
        Ok(damage)
    }

    /// Copies the disk of a member, which may run.
    pub(crate) fn back_up(&self, host: HostId) {
        if self.member(host).is_some() {
            let copy = self.disk(host).copy();
            self.nodes[&host].process.lock().backup = Some((copy, self.others(host)));
        }
    }

    /// The process dies, and finds the copy of its disk when it starts again. False, and nothing,
    /// when another process was started since the copy was made: it may have forgotten what it saw.
    pub(crate) fn go_back(&self, sim: &mut Sim<'_>, host: HostId) -> bool {
        let backup = self.nodes[&host].process.lock().backup.take();
        let Some((disk, others)) = backup.filter(|_| self.member(host).is_some()) else {
            return false;
        };
        if others != self.others(host) || !self.runs(sim, host) {
            return false;
        }
        self.kill(sim, host);
        {
            let mut process = self.nodes[&host].process.lock();
            (process.disk, process.went_back) = (disk, true);
        }
        self.usual_sync(host);
        true
    }

    /// How often each other process was started.
    fn others(&self, host: HostId) -> Vec<u64> {
        self.hosts().filter(|other| *other != host).map(|other| self.starts(other)).collect()
    }

    /// Whether the disk of the host's member is damaged or an older copy.
    pub(crate) fn is_lost(&self, host: HostId) -> bool {
        self.quarantined(host) || self.went_back(host)
    }

    /// Whether the host's member has an older copy of its disk.
    pub(crate) fn went_back(&self, host: HostId) -> bool {
        self.nodes[&host].process.lock().went_back
    }

    /// Nothing may go wrong for a moment, or may again.
    pub(crate) fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// Whether nothing may go wrong just now.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Whether the host's member is in quarantine.
    pub(crate) fn quarantined(&self, host: HostId) -> bool {
        self.nodes[&host].process.lock().quarantined
    }

    /// The number of the member on the host.
    pub(crate) fn member(&self, host: HostId) -> Option<NodeId> {
        self.nodes[&host].process.lock().member.as_ref().map(|member| member.node)
    }

    /// Whether this member ran on the host before.
    pub(crate) fn had(&self, host: HostId, node: NodeId) -> bool {
        self.nodes[&host].process.lock().former.contains(&node)
    }

    /// Forgets why the process ended.
    pub(crate) fn forget_end(&self, host: HostId) {
        self.nodes[&host].process.lock().ended = None;
    }

    /// The node's disk.
    pub(crate) fn disk(&self, host: HostId) -> MemoryDisk {
        self.nodes[&host].process.lock().disk.clone()
    }

    /// The folder of the node's archive.
    pub(crate) fn archive(&self, host: HostId) -> ArchiveFolder {
        self.nodes[&host].process.lock().archive.clone()
    }

    /// Gives the node another folder for its archive; to be called while it does not run.
    pub(crate) fn set_archive(&self, host: HostId, archive: ArchiveFolder) {
        self.nodes[&host].process.lock().archive = archive;
    }

    /// Why the node's process has ended by itself, if it has.
    pub(crate) fn ended(&self, host: HostId) -> Option<String> {
        self.nodes[&host].process.lock().ended.clone()
    }

    /// The node's replica, while it is open, if it belongs to the cluster.
    pub(crate) fn replica(&self, host: HostId) -> Option<Replica> {
        if self.is_foreign(host) {
            return None;
        }
        self.nodes[&host].process.lock().replica.clone()
    }

    /// The host of the member that leads, and its replica. If several think so, the one with the
    /// newest term.
    pub(crate) fn leader(&self) -> Option<(HostId, Replica)> {
        let replicas = self.hosts().filter_map(|host| Some((host, self.replica(host)?)));
        let leading = replicas.filter(|(_, replica)| replica.is_leader());
        leading.max_by_key(|(_, replica)| replica.status().term)
    }

    /// The members' logs, each on a disk that is made of the member's own.
    pub(crate) fn logs(&self, disk: impl Fn(MemoryDisk) -> MemoryDisk) -> Vec<MemberLog> {
        let found = |host: HostId| {
            let (node, committed) = (self.member(host)?, self.replica(host)?.positions().committed);
            let disk = disk(self.disk(host));
            Some(MemberLog {
                node,
                cluster: self.id(),
                disk,
                folder: format!("{}/log", folder(host, node)),
                committed,
            })
        };
        self.hosts().filter_map(found).collect()
    }

    /// Sends a command to a running process; does nothing when it does not run.
    pub(crate) fn command(&self, host: HostId, command: Command) {
        if let Some(commands) = &self.nodes[&host].process.lock().commands {
            // A process that is ending takes no commands.
            commands.send(command).ok();
        }
    }

    /// The node's wall clock gains so much in every second from now on, milliseconds.
    pub(crate) fn set_drift(&self, host: HostId, gains_ms: i64) {
        self.nodes[&host].clock.set_drift(gains_ms);
    }

    /// The node's wall clock jumps.
    pub(crate) fn turn_clock(&self, host: HostId, by_ms: i64) {
        self.nodes[&host].clock.turn(by_ms);
    }

    /// All hosts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        self.nodes.keys().copied()
    }

    /// How often the node was started.
    pub(crate) fn starts(&self, host: HostId) -> u64 {
        self.nodes[&host].process.lock().starts
    }
}
