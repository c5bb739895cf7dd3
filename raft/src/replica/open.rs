//! Opening a member: the disk first, then Raft, then the port for peers.
//!
//! Invariants: nothing is served before the data on disk has been read and checked; the peers' port
//! is bound before anything else is touched, so that a second process with the same configuration
//! stops with one clear line; nothing is voted or confirmed before the rollback check is over.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use quorate_archive::Archive;
use quorate_env::{Fatal, Listener, blocking};
use quorate_store::{NodeId, Serving};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tower::layer::util::{Identity, Stack};

use super::archive;
use super::backfill::{ArchiveService, MemberArchives};
use super::background::BackgroundTasks;
use super::config::config;
use super::forward::Forwarder;
use super::log_compaction::compact_by_size;
use super::log_watchdog::watch_log;
use super::options::ReplicaOptions;
use super::proposals::Proposals;
use super::read_index::ReadIndex;
use super::read_round::read_round;
use super::service::PeerService;
use super::snapshot_installs::SnapshotInstalls;
use super::store::ReplicaStore;
use super::task_seeds::TaskSeeds;
use super::watchdog::watch_applying;
use crate::admin::AdminService;
use crate::cluster::ClusterId;
use crate::core::{Raft, RaftNode};
use crate::log::{self, Log};
use crate::membership::{PeerCheck, complete_changes};
use crate::network::connector::{
    CONNECTION_WINDOW_BYTES, ClientTls, FRAME_BYTES, STREAM_WINDOW_BYTES,
};
use crate::network::join_only::JoinOnlyLayer;
use crate::network::link::Dialer;
use crate::network::links::Links;
use crate::network::listener::{self, Accepted};
use crate::network::raft_client::RaftNetwork;
use crate::network::rollback_query::RollbackQuery;
use crate::network::rpc::peer_server::PeerServer;
use crate::network::wire::MAX_MESSAGE_BYTES;
use crate::recovery;
use crate::rollback::{self, CheckedFolder, HighWaterMarks, RollbackCheck, StartGate};
use crate::state_machine::{self, SnapshotReceiver, StateMachine};

/// How often a peer's connection is probed from this end. The other end notices a silent one
/// sooner; here it only must not stay for ever.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// How long a probe may stay unanswered.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a member cannot be opened; one line each.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaOpenError {
    /// The peers' address cannot be bound.
    #[error("cannot listen for peers on {address}: {error}")]
    Listen {
        /// The address asked for.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// The peer certificate is another node's.
    #[error("the peer certificate is not that of node {node} of cluster {cluster}")]
    Certificate {
        /// This node.
        node: NodeId,
        /// Its cluster.
        cluster: ClusterId,
    },
    /// A recovery has begun and not ended.
    #[error("a recovery of the node in {} has begun and is not finished: run 'quorate recover' on it again", directory.display())]
    Recovering {
        /// Its folder.
        directory: PathBuf,
    },
    /// The folder cannot be read.
    #[error("{}: {error}", directory.display())]
    Folder {
        /// The folder.
        directory: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The log on disk.
    #[error(transparent)]
    Log(#[from] log::LogOpenError),
    /// The state on disk.
    #[error(transparent)]
    State(#[from] state_machine::StateOpenError),
    /// The timing makes no sense.
    #[error("timing: {0}")]
    Timing(#[from] openraft::ConfigError),
    /// The disk is an older copy of itself.
    #[error("{0}")]
    Older(String),
    /// openraft refuses what is on disk.
    #[error("the log and the state do not fit together: {0}")]
    Raft(String),
}

/// An open member.
pub(super) struct Opened {
    pub(super) raft: Arc<RaftNode>,
    pub(super) store: Arc<ReplicaStore>,
    pub(super) installs: Arc<SnapshotInstalls>,
    pub(super) admin: Arc<AdminService>,
    pub(super) log: Log,
    pub(super) fatal: Fatal,
    /// Where peers reach it.
    pub(super) address: String,
    pub(super) background: BackgroundTasks,
}

/// Opens a member and begins to answer its peers.
pub(super) async fn open(options: ReplicaOptions) -> Result<Opened, ReplicaOpenError> {
    let listening = options.env.network.listen(&options.listen).await;
    let listener = listening
        .map_err(|error| ReplicaOpenError::Listen { address: options.listen.clone(), error })?;
    refuse_half_recovered(&options)?;
    refuse_older_copy(&options)?;
    let (node, cluster) = (options.node, options.cluster);
    if !options.tls.is_of(cluster, node) {
        return Err(ReplicaOpenError::Certificate { node, cluster });
    }
    let log = Log::open(options.log.clone()).await?;
    let state_machine = StateMachine::open(&options.state)?;
    let receiver = state_machine.receiver();
    let parts = Box::pin(Parts::start(&options, log.clone(), state_machine)).await?;
    let address = listener.address();
    let (admin, mut background) = serve_peers(&options, &parts, listener, receiver);
    background.tasks.push(check_rollback(&options, &parts).await?);
    background.tasks.extend(fill_archive(&options, &parts));
    let Parts { raft, store, installs, .. } = parts;
    background.tasks.push(tokio::spawn(compact_by_size(raft.clone(), log.clone())));
    background.tasks.push(tokio::spawn(watch_log(raft.clone(), log.clone())));
    background.tasks.push(tokio::spawn(watch_applying(
        raft.clone(),
        store.serving.clone(),
        options.fatal.clone(),
    )));
    background.tasks.push(tokio::spawn(complete_changes(raft.clone())));
    Ok(Opened { raft, store, installs, admin, log, fatal: options.fatal, address, background })
}

fn refuse_half_recovered(options: &ReplicaOptions) -> Result<(), ReplicaOpenError> {
    let directory = options.directory.clone();
    match recovery::is_begun(&*options.log.disk, &directory) {
        Ok(false) => Ok(()),
        Ok(true) => Err(ReplicaOpenError::Recovering { directory }),
        Err(error) => Err(ReplicaOpenError::Folder { directory, error }),
    }
}

fn refuse_older_copy(options: &ReplicaOptions) -> Result<(), ReplicaOpenError> {
    let directory = options.directory.clone();
    match rollback::marker::read(&*options.log.disk, &directory) {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(ReplicaOpenError::Older(reason)),
        Err(error) => Err(ReplicaOpenError::Folder { directory, error }),
    }
}

/// What the background tasks and the handle of a member share.
struct Parts {
    raft: Arc<RaftNode>,
    store: Arc<ReplicaStore>,
    links: Arc<Links>,
    seeds: Arc<TaskSeeds>,
    marks: Arc<HighWaterMarks>,
    gate: Arc<StartGate>,
    installs: Arc<SnapshotInstalls>,
}

impl Parts {
    /// Starts Raft on the log and the state.
    async fn start(
        options: &ReplicaOptions,
        log: Log,
        state_machine: StateMachine,
    ) -> Result<Self, ReplicaOpenError> {
        let config = config(options.cluster, options.timing, options.compaction)?;
        let seeds = Arc::new(TaskSeeds::new(&*options.env.entropy));
        let dialer = Dialer {
            network: options.env.network.clone(),
            tls: ClientTls::Member(options.tls.clone()),
            cluster: Some(options.cluster),
            fatal: Some(options.fatal.clone()),
        };
        let links = Arc::new(Links::new(dialer));
        let serving = state_machine.serving();
        let archive = blocking(|| archive::start(options, &serving));
        let marks = Arc::new(HighWaterMarks::default());
        let network = RaftNetwork::new(links.clone(), marks.clone());
        let starting =
            seeds.scope(Raft::new(options.node, config, network, log, state_machine)).await;
        let raft = starting.map_err(|error| ReplicaOpenError::Raft(error.to_string()))?;
        let raft = Arc::new(RaftNode::new(options.node, options.cluster, raft));
        Ok(Self {
            store: Arc::new(store(options, raft.clone(), links.clone(), (serving, archive))),
            raft,
            links,
            seeds,
            marks,
            gate: Arc::new(StartGate::closed()),
            installs: Arc::default(),
        })
    }
}

fn store(
    options: &ReplicaOptions,
    raft: Arc<RaftNode>,
    links: Arc<Links>,
    (serving, archive): (Serving, Option<Archive>),
) -> ReplicaStore {
    let clock = options.env.clock.clone();
    let proposals = Arc::new(Proposals::new(options.limits, raft.clone(), clock, serving.clone()));
    ReplicaStore {
        archive,
        raft,
        serving,
        forwarder: Arc::new(Forwarder::new(links)),
        proposals,
        reads: Arc::default(),
    }
}

/// Accepts peers and answers them, runs read rounds and proposes batches.
fn serve_peers(
    options: &ReplicaOptions,
    parts: &Parts,
    listener: Box<dyn Listener>,
    receiver: SnapshotReceiver,
) -> (Arc<AdminService>, BackgroundTasks) {
    let closing = CancellationToken::new();
    let accepted = listener::accept(listener, options.tls.clone(), closing.clone());
    let Parts { raft, store, links, seeds, marks, gate, installs } = parts;
    let archived = store.clone();
    let admin = Arc::new(AdminService {
        archive: Box::new(move || archived.archive.as_ref().map(Archive::status)),
        raft: raft.clone(),
        store: store.clone(),
        links: links.clone(),
        env: options.env.clone(),
        signer: options.signer.clone(),
    });
    let service = PeerService {
        raft: raft.clone(),
        peers: Arc::new(PeerCheck::new(raft.clone(), store.serving.clone())),
        store: store.clone(),
        admin: admin.clone(),
        receiver,
        installs: installs.clone(),
        seeds: seeds.clone(),
        marks: marks.clone(),
        gate: gate.clone(),
        archive: Arc::new(ArchiveService::new(store.clone())),
        tracer: options.tracer.clone(),
    };
    let server = tokio::spawn(serve(router(service), accepted));
    let reads =
        tokio::spawn(run_read_rounds(store.reads.clone(), raft.clone(), store.forwarder.clone()));
    let proposals = store.proposals.clone();
    let writes = tokio::spawn(async move { proposals.run().await });
    (admin, BackgroundTasks { closing, tasks: vec![server, reads, writes] })
}

/// Fills the archive, where one is kept, from those of the other members.
fn fill_archive(options: &ReplicaOptions, parts: &Parts) -> Option<tokio::task::JoinHandle<()>> {
    let settings = options.archive.as_ref()?;
    let source = Arc::new(MemberArchives::new(parts.raft.clone(), parts.links.clone()));
    let backfill = parts.store.archive.as_ref()?.backfill(source, settings.backfill);
    Some(tokio::spawn(backfill.run()))
}

/// Asks the other voters whether the disk is an older copy of itself. The task goes on asking those
/// that did not answer.
async fn check_rollback(
    options: &ReplicaOptions,
    parts: &Parts,
) -> Result<tokio::task::JoinHandle<()>, ReplicaOpenError> {
    let folder = CheckedFolder {
        disk: options.log.disk.clone(),
        directory: options.directory.clone(),
        fatal: options.fatal.clone(),
    };
    let query = RollbackQuery::new(parts.links.clone());
    let check = RollbackCheck { raft: parts.raft.clone(), gate: parts.gate.clone(), folder, query };
    match check.run().await {
        Ok(asking) => Ok(asking),
        Err(reason) => {
            parts.raft.openraft().shutdown().await.ok();
            Err(ReplicaOpenError::Older(reason))
        }
    }
}

async fn run_read_rounds(reads: Arc<ReadIndex>, raft: Arc<RaftNode>, forwarder: Arc<Forwarder>) {
    let round = move || {
        let (raft, forwarder) = (raft.clone(), forwarder.clone());
        async move { read_round(&raft, &forwarder).await }.boxed()
    };
    reads.run(round).await;
}

fn router(service: PeerService) -> Router<Stack<JoinOnlyLayer, Identity>> {
    let service = PeerServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Server::builder()
        .layer(JoinOnlyLayer)
        .http2_keepalive_interval(Some(KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(Some(FRAME_BYTES))
        .add_service(service)
}

/// Ends when no connection is accepted any more.
async fn serve(router: Router<Stack<JoinOnlyLayer, Identity>>, accepted: Accepted) {
    if let Err(error) = router.serve_with_incoming(ReceiverStream::new(accepted)).await {
        tracing::error!(%error, "the peer RPC server ended");
    }
}
