//! A running node: the one place that wires the replica, the API and the controllers together.
//!
//! Start: lock the data folder, read certificates, open the replica, found the cluster if this is
//! its first start, serve. Stop: not ready, hand the leadership over, finish running requests, stop
//! the replica. After a failure of the disk or of the replica only the audit log is finished.

mod authorities;
mod backup_pages;
mod backup_schedule;
mod certificate_ends;
mod certificates;
mod health;
mod issuer;
mod rotation;
mod signer;
mod static_tokens;
mod token_keys;
mod wiring;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use quorate_api::audit::{AuditWriter, AuditWriterHandle};
use quorate_api::server::{ApiServer, Handle, Limits, Options, ServerTls};
use quorate_env::Env;
use quorate_raft::{PeerTls, Replica};
use quorate_schema::Graph;
use quorate_store::Store;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::cli::Tuning;
use crate::config::NodeConfig;
use crate::data_dir::{DataDir, Lock};
use crate::error::Error;
use crate::pki;
use crate::pki::sealed::ClusterSecret;
use crate::telemetry::{
    LogWriter, Otlp, Traces, count_leaders, observe_archive, observe_raft, stop_exports,
};

/// How long running requests may take to finish when the node stops; with the replica's own limit
/// below 10 s.
const STOP_GRACE: Duration = Duration::from_secs(4);
/// How long the last audit events may take to be written to all sinks.
const AUDIT_GRACE: Duration = Duration::from_secs(2);

/// A node that serves.
pub(crate) struct Node {
    replica: Replica,
    api: Handle,
    server: JoinHandle<()>,
    background: Background,
    audit: Vec<(AuditWriterHandle, JoinHandle<()>)>,
    /// The export of metrics, where there is one.
    otlp: Option<Arc<Otlp>>,
    /// The export of traces, where there is one.
    traces: Option<Arc<Traces>>,
    _lock: Lock,
}

/// What runs beside the servers.
struct Background {
    /// What changes the cluster.
    controllers: Vec<JoinHandle<()>>,
    /// What keeps this node's view of the cluster current: role rules, authorities, certificates,
    /// token keys.
    followers: Vec<JoinHandle<()>>,
}

/// What the parts of a node share.
struct Parts {
    config: NodeConfig,
    dir: DataDir,
    env: Env,
    secret: ClusterSecret,
    server_tls: Arc<ServerTls>,
    /// The file with the authority of proxies in front, if there are any.
    proxies: Option<PathBuf>,
    peer_tls: Arc<PeerTls>,
}

impl Node {
    /// Starts the node of a data folder. It answers its peers and its health checks when this
    /// returns; clients are served once there is a quorum.
    pub(crate) async fn start(
        dir: &DataDir,
        tuning: &Tuning,
        env: &Env,
        log: LogWriter,
    ) -> Result<Self, Error> {
        NodeConfig::read(dir)?;
        let lock = dir.lock().await?;
        // The process that held the lock until now may have changed it.
        let config = NodeConfig::read(dir)?;
        let parts = Arc::new(Parts::read(
            config,
            dir,
            env,
            tuning.access.requestheader_client_ca_file.clone(),
        )?);
        let (node, naming) = (parts.config.node, parts.config.naming);
        tracing::info!(version = env!("CARGO_PKG_VERSION"), node, %naming, cluster = %parts.config.cluster, "starting");
        let graph = Arc::new(Graph::builtin(naming.names()));
        let switches = tuning.features.resolve(&graph)?;
        switches.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        let (audit, writers) = tuning.audit.open_log(node, naming.names(), env)?.unzip();
        let wiring::Telemetry { metrics, otlp, traces } =
            wiring::telemetry(&parts, &tuning.metrics)?;
        let tracer = traces.as_ref().map(|traces| traces.tracer().clone());
        let replica =
            wiring::replica(&parts, tuning, &switches.gates, (&metrics, tracer.clone())).await?;
        let store: Arc<dyn Store> = Arc::new(replica.clone());
        observe_raft(&metrics, &replica);
        observe_archive(&metrics, &replica);
        let api =
            wiring::api(&parts, tuning, &graph, switches, (store, metrics.clone()), tracer, audit)?;
        let options = Options {
            address: parts.config.api.bind.clone(),
            tls: parts.server_tls.clone(),
            limits: Limits { watch_stall: tuning.history_duration, ..Limits::default() },
            shutdown_delay: tuning.shutdown_delay_duration,
            shutdown_grace: STOP_GRACE,
        };
        let address = options.address.clone();
        let bound = ApiServer::bind(api.clone(), options).await;
        let (server, handle) = bound
            .map_err(|error| Error::config(format_args!("cannot listen on {address}: {error}")))?;
        let server = tokio::spawn(server.run());
        tracing::info!(api = handle.address(), peers = replica.address(), "listening");
        let mut background = wiring::background(&parts, tuning, &replica, (&api, &metrics), log)?;
        let leader_changes = metrics.counter("quorate_raft_leader_changes_total").with([]);
        background.followers.push(tokio::spawn(count_leaders(leader_changes, replica.clone())));
        let audit = writers
            .into_iter()
            .flatten()
            .map(carry)
            .collect::<io::Result<_>>()
            .map_err(Error::failed)?;
        Ok(Self { replica, api: handle, server, background, audit, otlp, traces, _lock: lock })
    }

    /// Returns when the node cannot go on, with the reason.
    pub(crate) async fn failed(&self) -> String {
        self.replica.failed().await
    }

    /// Hands the leadership over, finishes running requests and stops the replica, in this order.
    pub(crate) async fn stop(self) {
        tracing::info!("stopping");
        self.api.shutdown();
        if let Some(successor) = self.replica.step_down().await {
            tracing::info!(successor, "handed the leadership over");
        }
        let Background { controllers, followers } = self.background;
        controllers.iter().for_each(JoinHandle::abort);
        if let Err(error) = self.server.await {
            tracing::error!(%error, "the API server ended badly");
        }
        followers.iter().for_each(JoinHandle::abort);
        finish(self.audit).await;
        stop_exports(self.otlp, self.traces).await;
        self.replica.stop().await;
        tracing::info!("stopped");
    }

    /// Ends the node after a failure, without a hand-over.
    pub(crate) async fn abandon(self) {
        self.api.shutdown();
        finish(self.audit).await;
    }
}

/// Writes the rest of the audit log, for [`AUDIT_GRACE`] at most.
async fn finish(audit: Vec<(AuditWriterHandle, JoinHandle<()>)>) {
    audit.iter().for_each(|(handle, _)| handle.stop());
    if timeout(AUDIT_GRACE, join_all(audit.into_iter().map(|(_, writing)| writing))).await.is_err()
    {
        tracing::error!("the last audit events could not be written in time");
    }
}

/// Carries audit events on a thread of its own: writing keeps it busy for as long as disks like.
#[expect(
    clippy::disallowed_methods,
    reason = "a simulation has an API server without this process around it"
)]
fn carry(
    (writer, handle): (AuditWriter, AuditWriterHandle),
) -> io::Result<(AuditWriterHandle, JoinHandle<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok((handle, spawn_blocking(move || runtime.block_on(writer.run()))))
}

impl Parts {
    fn read(
        config: NodeConfig,
        dir: &DataDir,
        env: &Env,
        proxies: Option<PathBuf>,
    ) -> Result<Self, Error> {
        let folder = dir.pki();
        let server_tls = ServerTls::new(&pki::server_files(&folder, proxies.as_deref())?)
            .map_err(Error::config)?;
        let peer_tls = PeerTls::new(&pki::peer_credentials(&folder)?).map_err(Error::config)?;
        Ok(Self {
            config,
            dir: dir.clone(),
            env: env.clone(),
            secret: ClusterSecret::read(&dir.cluster_secret())?,
            server_tls: Arc::new(server_tls),
            proxies,
            peer_tls: Arc::new(peer_tls),
        })
    }
}
