//! A simulated node: one host's process over all its restarts, and over the members that run on it
//! one after the other.
//!
//! Invariants: a member's certificate, clock and folder stay over restarts; a member that takes the
//! host of another one finds nothing of it: neither log nor state nor number.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_env::disk::MemoryDisk;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_raft::replica::{ArchiveSettings, MemberOptions, ReplicaOptions};
use quorate_raft::state_machine::Saving;
use quorate_raft::{AdminError, ClusterId, PeerTls, Replica};
use quorate_store::NodeId;
use tokio::sync::mpsc;

use crate::api;
use crate::archive_folder::ArchiveFolder;
use crate::broken::{self, Broken};
use crate::env::{OfflineNetwork, QuarantinedNetwork, SimulatedClock, env_with};
use crate::gateway::{self, CLIENT_PORT};
use crate::pki::NoSigner;
use crate::plan::Plan;
use crate::topology::{HostId, PEER_PORT, folder, peer};

/// Where nodes in quarantine listen: no peer connects to it.
const QUARANTINE_PORT: u16 = 7999;
/// Groups that a crash takes back from the state at most; the log gives them again.
const UNSAVED_GROUPS: usize = 8;
/// Bytes of a segment of a state's journal, and of journal after which there is a checkpoint: so
/// few that both come often.
const STATE_SEGMENT_BYTES: u64 = 128 << 10;
const CHECKPOINT_BYTES: u64 = 64 << 10;
/// Bytes of the first segment of a log.
const FIRST_SEGMENT_BYTES: u64 = 16 << 10;

/// A host and the process on it.
pub(crate) struct Node {
    pub(crate) host: HostId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) process: Mutex<Process>,
}

/// The state of the process, which changes.
#[derive(Default)]
pub(crate) struct Process {
    /// The member on the host.
    pub(crate) member: Option<Member>,
    /// Members that ran on it before.
    pub(crate) former: Vec<NodeId>,
    pub(crate) disk: MemoryDisk,
    pub(crate) archive: ArchiveFolder,
    /// Its disk has decayed: it may start, but has no connections.
    pub(crate) quarantined: bool,
    /// A copy of its disk, and how often each other process had been started when that was made.
    pub(crate) backup: Option<(MemoryDisk, Vec<u64>)>,
    /// A copy of its disk was put back.
    pub(crate) went_back: bool,
    pub(crate) replica: Option<Replica>,
    pub(crate) starts: u64,
    /// Why the process ended by itself.
    pub(crate) ended: Option<String>,
    /// Where commands to the process go, while it runs.
    pub(crate) commands: Option<mpsc::UnboundedSender<Command>>,
}

/// The identity of a member.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) node: NodeId,
    /// Which cluster it belongs to.
    pub(crate) cluster: ClusterId,
    pub(crate) tls: Arc<PeerTls>,
    /// It founds the cluster with the other founders.
    pub(crate) founder: bool,
}

/// The answer to an administrative request, once it is there.
pub(crate) type AdminReply = Arc<Mutex<Option<Result<AdminAnswer, AdminError>>>>;

/// A command to a running process from the test.
pub(crate) enum Command {
    /// All its timers see this much time go by at once.
    Jump(Duration),
    /// An operator asks.
    Ask(AdminRequest, AdminReply),
}

impl Node {
    /// Syncs take as long as they usually do.
    pub(crate) fn usual_sync(&self) {
        self.process.lock().disk.set_sync_delay(self.plan.sync);
    }

    /// Runs until the process ends by itself; ends at once when the host has no member.
    pub(crate) async fn run(&self) {
        let Some(member) = self.process.lock().member.clone() else {
            return;
        };
        let reason = match Box::pin(self.serve(&member)).await {
            Ok(reason) | Err(reason) => reason,
        };
        self.forget();
        self.process.lock().ended = Some(reason);
    }

    /// The process is gone.
    pub(crate) fn forget(&self) {
        let mut process = self.process.lock();
        (process.replica, process.commands) = (None, None);
    }

    /// Why the node stops, as an error when it could not start.
    async fn serve(&self, member: &Member) -> Result<String, String> {
        let mut options = self.options(member);
        let env = options.env.clone();
        let offline = Arc::new(OfflineNetwork::new(env.network.clone()));
        if self.plan.broken == Some(Broken::TrustedDisk) {
            options.env.network = offline.clone();
        }
        let replica =
            Replica::open(options).await.map_err(|error| format!("cannot start: {error}"))?;
        offline.forget();
        self.process.lock().replica = Some(replica.clone());
        if member.founder && self.host == 1 {
            let members = (1..=self.plan.voters).map(|host| (host, peer(host))).collect();
            replica
                .initialize(members)
                .await
                .map_err(|error| format!("cannot found the cluster: {error}"))?;
        }
        let serving = async {
            let store = broken::store(self.plan.broken, &replica);
            if let Some(plan) = &self.plan.api {
                return Err(Box::pin(api::serve(plan, &replica, store, env)).await);
            }
            replica.recovered().await;
            let listener = env
                .network
                .listen(&format!("0.0.0.0:{CLIENT_PORT}"))
                .await
                .map_err(|e| e.to_string())?;
            gateway::serve(listener, store, self.plan.broken).await;
            Err("the listener for clients ended".to_owned())
        };
        tokio::select! {
            reason = replica.failed() => Ok(reason),
            ended = serving => ended,
            ended = self.run_commands(&replica) => ended,
        }
    }

    /// Carries out commands.
    async fn run_commands(&self, replica: &Replica) -> Result<String, String> {
        let (sender, mut commands) = mpsc::unbounded_channel();
        self.process.lock().commands = Some(sender);
        while let Some(command) = commands.recv().await {
            match command {
                Command::Jump(by) => tokio::time::advance(by).await,
                Command::Ask(request, reply) => {
                    let replica = replica.clone();
                    tokio::spawn(async move {
                        let answer = replica.ask(request).await;
                        *reply.lock() = Some(answer);
                    });
                }
            }
        }
        Err("the sender of commands is gone".to_owned())
    }

    fn options(&self, member: &Member) -> ReplicaOptions {
        let (disk, mut archive, start, quarantined) = {
            let mut process = self.process.lock();
            process.starts += 1;
            let archive = process.archive.clone();
            (process.disk.clone(), archive, process.starts, process.quarantined)
        };
        let seed = self.plan.seed ^ (self.host << 32) ^ (start << 40);
        let mut env = env_with(self.clock.clone(), seed, self.plan.trace.clone());
        if quarantined {
            env.network = Arc::new(QuarantinedNetwork(env.network));
        }
        let port = if quarantined { QUARANTINE_PORT } else { PEER_PORT };
        let who = MemberOptions {
            node: member.node,
            cluster: member.cluster,
            naming: "svc".to_owned(),
            listen: format!("0.0.0.0:{port}"),
            env,
            tls: member.tls.clone(),
            signer: Arc::new(NoSigner),
        };
        let lie = self.plan.broken.filter(|broken| *broken != Broken::ForgetfulRecovery);
        let disk = broken::disk(lie, disk);
        let mut options =
            ReplicaOptions::new(who, disk, Path::new(&folder(self.host, member.node)));
        options.log.segment_bytes = self.plan.segment_bytes;
        options.log.first_segment_bytes = FIRST_SEGMENT_BYTES;
        options.state.segment_bytes = STATE_SEGMENT_BYTES;
        options.state.checkpoint_bytes = CHECKPOINT_BYTES;
        options.state.saving = Saving::Every(UNSAVED_GROUPS);
        options.state.retention = self.plan.retention;
        archive.is_forging = self.plan.broken == Some(Broken::ForgedPast);
        options.archive =
            Some(ArchiveSettings { engine: Some(Arc::new(archive)), ..self.plan.archive.clone() });
        options.compaction = self.plan.compaction;
        options.timing = self.plan.timing;
        options
    }
}
