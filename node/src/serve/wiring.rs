//! The wiring of a node: the replica, the API over it, and the tasks beside them.

use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quorate_access::flow_control::InFlightLimits;
use quorate_api::audit::Audit;
use quorate_api::identity_lease::{self, IdentityLeaseOptions};
use quorate_api::lifecycle::Phase;
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version, breaker_events};
use quorate_controllers::certificates::Signing;
use quorate_controllers::{ApiServer, ApiServers, Controllers, ControllersOptions};
use quorate_env::disk::SystemDisk;
use quorate_kinds::builtin;
use quorate_metrics::{HistogramExport, Registry};
use quorate_raft::admin::CertificateSigner;
use quorate_raft::replica::{ArchiveSettings, Compaction, MemberOptions, ReplicaOptions};
use quorate_raft::types::Peer;
use quorate_raft::{Member, Replica, Role};
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_registry::features::{Feature, Gates};
use quorate_schema::Graph;
use quorate_store::{Limits, Retention, Store};
use quorate_trace::Tracer;
use tokio::task::JoinHandle;

use super::backup_pages::NodeBackupPages;
use super::backup_schedule::BackupSchedule;
use super::health::{Sources, Tasks};
use super::issuer::StoreIssuer;
use super::signer::Signer;
use super::{
    Background, Parts, authorities, certificate_ends, certificates, issuer, static_tokens,
    token_keys,
};
use crate::allocator::return_memory;
use crate::cli::{MetricsFlags, Switch, Switches, Tuning};
use crate::error::Error;
use crate::files::read_text;
use crate::pki::{self, names};
use crate::telemetry::{LogSyncs, LogWriter, Otlp, ServiceIdentity, Traces, observe_process};

/// How long an Event object lives after it was last written.
/// Where the system says the name of its host.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
const EVENT_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The members of the cluster as the API's controllers want to know them.
struct Members(Replica);

impl ApiServers for Members {
    fn servers(&self) -> Vec<ApiServer> {
        let heard = self.0.heard();
        let server = |member: &Member| {
            let own = (member.role == Role::Leader).then_some(Duration::ZERO);
            Some(ApiServer {
                address: member.api.parse().ok()?,
                heard: own.or(heard.get(&member.node).copied()),
            })
        };
        self.0.members().iter().filter_map(server).collect()
    }
}

impl Debug for Members {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Members").field(&self.servers()).finish()
    }
}

/// The registry of metrics, and what exports them and traces where that is asked for.
pub(super) struct Telemetry {
    pub(super) metrics: Arc<Registry>,
    pub(super) otlp: Option<Arc<Otlp>>,
    pub(super) traces: Option<Arc<Traces>>,
}

/// Starts what is asked for.
pub(super) fn telemetry(parts: &Parts, flags: &MetricsFlags) -> Result<Telemetry, Error> {
    let options = flags.resolve()?;
    let instance = format!("{}/{}", parts.config.cluster, parts.config.node);
    let identity = ServiceIdentity { instance, cluster: parts.config.cluster.to_string() };
    let endpoint = flags.otlp_endpoint.as_deref();
    let otlp = Otlp::start(endpoint, &parts.env, &identity)?;
    let export = otlp.clone().map(|otlp| otlp as Arc<dyn HistogramExport>);
    let registry = Registry::new(&options, export);
    observe_process(&registry);
    if let Some(otlp) = &otlp {
        otlp.observe(&registry);
    }
    let rate = flags.tracing_sampling_rate_per_million;
    let traces = Traces::start(endpoint, rate, &parts.env, (&identity, &registry))?;
    Ok(Telemetry { metrics: registry, otlp, traces: traces.map(Arc::new) })
}

/// Opens the replica; founds the cluster when this node is to and has not.
pub(super) async fn replica(
    parts: &Arc<Parts>,
    tuning: &Tuning,
    gates: &Gates,
    (metrics, tracer): (&Registry, Option<Arc<Tracer>>),
) -> Result<Replica, Error> {
    let store: Arc<OnceLock<Arc<dyn Store>>> = Arc::default();
    let config = &parts.config;
    let signer: Arc<dyn CertificateSigner> =
        Arc::new(Signer { parts: parts.clone(), store: store.clone() });
    let member = MemberOptions {
        node: config.node,
        cluster: config.cluster,
        naming: config.naming.to_string(),
        listen: config.peer.bind.clone(),
        env: parts.env.clone(),
        tls: parts.peer_tls.clone(),
        signer,
    };
    let mut options = ReplicaOptions::new(member, Arc::new(SystemDisk), &parts.dir.raft());
    options.limits = Limits { store_bytes: tuning.store_size_limit, ..Limits::default() };
    let time_ms = u64::try_from(tuning.history_duration.as_millis()).map_err(Error::config)?;
    options.compaction = Compaction { every: tuning.snapshot_every, keep: tuning.log_keep };
    options.tracer = tracer;
    options.log.observer = Some(LogSyncs::new(metrics));
    options.state.retention = Retention { time_ms, bytes: tuning.history_size };
    options.archive = (tuning.archive == Switch::On).then(|| ArchiveSettings {
        retention: tuning.archive_retention,
        bytes: tuning.archive_size,
        ..ArchiveSettings::new(parts.dir.archive())
    });
    if !gates.has(Feature::ListFromCacheSnapshot) {
        options.state.serving.remembered_snapshots = 0;
    }
    let replica = Replica::open(options).await.map_err(Error::config)?;
    // Set only here: the signer was made just above.
    store.get_or_init(|| Arc::new(replica.clone()));
    if !config.founders.is_empty() {
        let founders = config.founders.iter().map(|founder| {
            (founder.node, Peer { address: founder.peer.clone(), api: founder.api.clone() })
        });
        replica.initialize(founders.collect()).await.map_err(Error::failed)?;
    }
    Ok(replica)
}

/// The API of this node.
pub(super) fn api(
    parts: &Parts,
    tuning: &Tuning,
    graph: &Arc<Graph>,
    switches: Switches,
    (store, metrics): (Arc<dyn Store>, Arc<Registry>),
    tracer: Option<Arc<Tracer>>,
    audit: Option<Audit>,
) -> Result<Arc<Api>, Error> {
    let config = &parts.config;
    let authentication =
        tuning.access.authentication(config.naming.names(), &config.api.advertise)?;
    Ok(Api::new(ApiOptions {
        naming: parts.config.naming,
        catalogue: builtin::catalogue_with(graph, &switches.gates, &switches.runtime_config),
        store,
        env: parts.env.clone(),
        version: Version {
            git_version: concat!("v1.35.0+quorate-", env!("CARGO_PKG_VERSION")).to_owned(),
            compiler: env!("QUORATE_COMPILER").to_owned(),
            ..Version::default()
        },
        address: config.api.advertise.clone(),
        phase: Phase::Starting,
        authentication,
        audit: audit.map(Arc::new),
        authorization: tuning.access.authorization.modes(&parts.env)?,
        token_secret: parts.secret.derive("continue tokens"),
        in_flight: InFlightLimits {
            read_only: tuning.max_requests_inflight,
            mutating: tuning.max_mutating_requests_inflight,
            long_running: tuning.max_watches,
        },
        priority_and_fairness: tuning.enable_priority_and_fairness,
        gates: switches.gates,
        webhook_roots: pki::platform_roots(),
        protobuf_cache_bytes: usize::try_from(tuning.protobuf_cache_size).map_err(Error::config)?,
        selector_indexes: SelectorIndexOptions::default(),
        kubelets: tuning.kubelets.client(&parts.env.clock)?,
        metrics,
        tracer,
    }))
}

/// Starts what runs beside the servers, for as long as the node does.
pub(super) fn background(
    parts: &Arc<Parts>,
    tuning: &Tuning,
    replica: &Replica,
    (api, metrics): (&Arc<Api>, &Registry),
    log: LogWriter,
) -> Result<Background, Error> {
    let pages = NodeBackupPages::new(parts, &api.store);
    let set = api.backup_pages.set(Arc::new(pages));
    debug_assert!(set.is_ok(), "the API was made just before");
    let root_ca = read_text(&parts.dir.pki().join(names::AUTHORITY_CERTIFICATE))?;
    let issuer = Arc::new(StoreIssuer { parts: parts.clone(), store: api.store.clone() });
    let signing = Some(Signing { issuer, duration: tuning.features.cluster_signing_duration });
    let (_, port) = parts.config.api.bind.rsplit_once(':').unwrap_or_default();
    let api_port = port.parse().unwrap_or_default();
    let options = ControllersOptions {
        cluster: api.cluster(),
        root_ca,
        event_lifetime: EVENT_LIFETIME,
        signing,
        api_port,
        api_servers: Arc::new(Members(replica.clone())),
    };
    let (controllers, _) = Controllers::new(options);
    let (informer, _) = Informer::new(InformerOptions { states: api.derived_states() });
    let (waiting, recovering) = (api.clone(), replica.clone());
    let recovery = async move {
        recovering.recovered().await;
        // Without them no token could be told from a wrong one.
        waiting.authentication.service_accounts.keys_known().await;
        custom_resources_known(&waiting).await;
        waiting.lifecycle.serve();
        tracing::info!("serving");
        waiting.make_documents();
    };
    let published = Arc::new(AtomicBool::new(false));
    let publication = {
        let (parts, store, published) = (parts.clone(), api.store.clone(), published.clone());
        async move {
            authorities::publish(parts, store).await;
            published.store(true, Ordering::Relaxed);
        }
    };
    let controllers =
        [tokio::spawn(recovery), tokio::spawn(controllers.run()), tokio::spawn(publication)];
    let schedule = BackupSchedule::new(parts, &tuning.backup, &api.store, metrics)?;
    let ends = certificate_ends::observe(metrics, parts, tuning);
    let mut followers = vec![
        tokio::spawn(informer.run()),
        tokio::spawn(token_keys::run(parts.clone(), api.clone())),
        tokio::spawn(issuer::run(parts.clone(), api.store.clone())),
        tokio::spawn(certificates::run(parts.clone(), api.store.clone(), ends)),
        tokio::spawn(return_memory()),
        tokio::spawn(breaker_events::run(api.clone(), breaker_events::INTERVAL)),
        tokio::spawn(identity_lease::run(api.clone(), lease_options(&parts.config.api.advertise))),
    ];
    let publisher = api.custom_resources.clone();
    let publisher = publisher.map(|publisher| tokio::spawn(async move { publisher.run().await }));
    let tasks = Tasks {
        informer: followers[0].abort_handle(),
        publisher: publisher.as_ref().map(JoinHandle::abort_handle),
        controllers: controllers[1].abort_handle(),
        token_keys: followers[1].abort_handle(),
        recovery: controllers[0].abort_handle(),
        authorities: (controllers[2].abort_handle(), published),
    };
    let (api, replica, node) = (api.clone(), replica.clone(), parts.config.node);
    let sources = Sources { api: api.clone(), replica, node, log, tasks };
    sources.register().expect("the names are those of the table of checks");
    api.health.begin_grace(tuning.livez_grace_period);
    followers.extend(publisher);
    followers.extend(schedule.map(|schedule| tokio::spawn(schedule.run())));
    if let Some(file) = &tuning.access.token_auth_file {
        followers.push(tokio::spawn(static_tokens::run(file.clone(), api)));
    }
    Ok(Background { controllers: controllers.into(), followers })
}

/// What the Lease of this process says, and how often. Where the system does not say the name of its
/// host, that is the one that clients use.
fn lease_options(advertised: &str) -> IdentityLeaseOptions {
    let host = read_text(Path::new(HOST_NAME)).unwrap_or_else(|_| {
        let (host, _) = advertised.rsplit_once(':').unwrap_or_default();
        host.to_owned()
    });
    IdentityLeaseOptions { host: host.trim().to_owned(), interval: identity_lease::RENEWAL }
}

/// Returns once every custom resource that was served before is served again.
async fn custom_resources_known(api: &Api) {
    let Some(publisher) = &api.custom_resources else { return };
    while let Err(error) = publisher.catch_up().await {
        tracing::warn!(%error, "custom resources are not served yet");
    }
}
