//! Opening a member: disk first, then Raft, then the door for peers.
//!
//! Invariants: nothing is served before the data on disk has been read and checked; the peers' port is bound before anything else is
//! touched, so that a second process with the same configuration stops with one clear line; nothing is voted or confirmed before the other
//! voters were asked whether the disk is an older copy.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::FutureExt;
use quorate_env::Listener;
use quorate_store::NodeId;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tower::layer::util::{Identity, Stack};

use super::config::config;
use super::core::{Core, Installs, Raft};
use super::forward::Forwarder;
use super::handle::{Replica, Tasks};
use super::options::ReplicaOptions;
use super::proposal_batches::ProposalBatches;
use super::proposals::Proposals;
use super::read_index::ReadIndex;
use super::service::PeerService;
use super::task_seeds::TaskSeeds;
use crate::ClusterId;
use crate::admin;
use crate::log::{self, Log};
use crate::network::connector::{CONNECTION_WINDOW_BYTES, ClientTls, FRAME_BYTES, STREAM_WINDOW_BYTES};
use crate::network::join_only::JoinOnlyLayer;
use crate::network::link::Dialer;
use crate::network::links::Links;
use crate::network::listener::{self, Accepted};
use crate::network::raft_client::RaftNetwork;
use crate::network::rpc::peer_server::PeerServer;
use crate::network::wire::MAX_MESSAGE_BYTES;
use crate::recovery;
use crate::rollback::{self, Gate, HighWater};
use crate::state_machine::{self, SnapshotReceiver, StateMachine};

/// How often a peer's connection is probed from this end. The other end notices a silent one sooner; here it only must not stay for ever.
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
    /// The peer certificate is somebody else's.
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
    /// The disk went back.
    #[error("{0}")]
    Older(String),
    /// Raft refuses what is on disk.
    #[error("the log and the state do not fit together: {0}")]
    Raft(String),
}

impl Replica {
    /// Opens a member and begins to answer its peers. A new one then waits to be initialized or to be found by a leader.
    pub async fn open(options: ReplicaOptions) -> Result<Self, ReplicaOpenError> {
        let listening = options.env.network.listen(&options.listen).await;
        let listener =
            listening.map_err(|error| ReplicaOpenError::Listen { address: options.listen.clone(), error })?;
        refuse_half_recovered(&options)?;
        refuse_older_copy(&options)?;
        let (node, cluster) = (options.node, options.cluster);
        if !options.tls.is_of(cluster, node) {
            return Err(ReplicaOpenError::Certificate { node, cluster });
        }
        let log = Log::open(options.log.clone()).await?;
        let state_machine = StateMachine::open(&options.state)?;
        let receiver = state_machine.receiver();
        let core = Arc::new(Box::pin(core(&options, log.clone(), state_machine)).await?);
        let mut tasks = start(&options, &core, listener, receiver);
        let (disk, fatal) = (options.log.disk.clone(), options.fatal.clone());
        let disk = rollback::Disk { disk, directory: options.directory.clone(), fatal };
        match rollback::check(&core, disk).await {
            Ok(asking) => tasks.tasks.push(asking),
            Err(reason) => {
                core.raft.shutdown().await.ok();
                return Err(ReplicaOpenError::Older(reason));
            }
        }
        let (cut, entries) = (core.clone(), log.clone());
        tasks.tasks.push(tokio::spawn(async move { cut.keep_log_short(entries).await }));
        let (watched, fatal) = (core.clone(), options.fatal.clone());
        tasks.tasks.push(tokio::spawn(async move { watched.watch_applying(fatal).await }));
        let changing = core.clone();
        tasks.tasks.push(tokio::spawn(async move { changing.complete_changes().await }));
        Ok(Self::new(core, log, options.fatal, tasks))
    }
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

async fn core(options: &ReplicaOptions, log: Log, state_machine: StateMachine) -> Result<Core, ReplicaOpenError> {
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
    let witness = Arc::new(HighWater::default());
    let network = RaftNetwork::new(links.clone(), witness.clone());
    let starting = seeds.scope(Raft::new(options.node, config, network, log, state_machine)).await;
    Ok(Core {
        node: options.node,
        cluster: options.cluster,
        env: options.env.clone(),
        raft: starting.map_err(|error| ReplicaOpenError::Raft(error.to_string()))?,
        forwarder: Forwarder::new(links.clone()),
        links,
        proposals: Proposals::new(options.limits),
        groups: ProposalBatches::default(),
        rounds: ReadIndex::default(),
        stopping: AtomicBool::new(false),
        installs: Installs::default(),
        serving,
        seeds,
        witness,
        gate: Gate::closed(),
    })
}

fn start(options: &ReplicaOptions, core: &Arc<Core>, listener: Box<dyn Listener>, receiver: SnapshotReceiver) -> Tasks {
    let address = listener.address();
    let closing = CancellationToken::new();
    let accepted = listener::accept(listener, options.tls.clone(), closing.clone());
    let admin = Arc::new(admin::Service::new(core.clone(), options.signer.clone()));
    let service = PeerService { core: core.clone(), receiver, admin: admin.clone() };
    let server = tokio::spawn(serve(router(service), accepted));
    let reads = tokio::spawn(read_rounds(core.clone()));
    let writes = tokio::spawn(propose_groups(core.clone()));
    Tasks { address, admin, closing, tasks: vec![server, reads, writes] }
}

async fn read_rounds(core: Arc<Core>) {
    let reader = core.clone();
    let round = move || {
        let reader = reader.clone();
        async move { reader.read_round().await }.boxed()
    };
    core.rounds.run(round).await;
}

async fn propose_groups(core: Arc<Core>) {
    let proposer = core.clone();
    let propose = move |txns| {
        let proposer = proposer.clone();
        async move { proposer.propose_group(txns).await }.boxed()
    };
    core.groups.run(propose).await;
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

/// Ends when nobody accepts any more.
async fn serve(router: Router<Stack<JoinOnlyLayer, Identity>>, accepted: Accepted) {
    if let Err(error) = router.serve_with_incoming(ReceiverStream::new(accepted)).await {
        tracing::error!(%error, "the peer RPC server ended");
    }
}
