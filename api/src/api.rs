//! The Api: everything that requests share, from names, schema and store to what the server says
//! about itself.
//!
//! Invariant: immutable but for what its fields guard themselves; one per process or, in tests,
//! several side by side.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use quorate_controllers::Cluster;
use quorate_env::Env;
use quorate_meta::{Names, Naming};
use quorate_store::Store;
use quorate_webhook::{Clients, Outside};
use rustls::pki_types::CertificateDer;

use crate::audit::Audit;
use crate::backup_pages::BackupPages;
use crate::continue_token::Tokens;
use crate::discovery::Discovery;
use crate::fanout::Fanout;
use crate::health::Health;
use crate::kubelet::KubeletClient;
use crate::lifecycle::{Lifecycle, Phase};
use crate::metrics::{
    AdmissionCalls, BuildFacts, Conversions, FlowControlCounts, Observed, Registry,
    RestClientMetrics, ServerMetrics, WebhookCalls, measured, measured_modes, observe,
    observe_breakers, observe_levels,
};
use crate::negotiation::Formats;
use crate::openapi::OpenApi;
use crate::refused_writes::RefusedWrites;
use crate::selector_index::{SelectorIndexOptions, SelectorIndexes};
use quorate_access::authentication::{Authentication, AuthenticationOptions};
use quorate_access::authorization::{Authorizer, AuthorizerOptions, ModeOptions};
use quorate_access::flow_control::{FlowControl, FlowControlOptions, InFlight, InFlightLimits};
use quorate_admission::Admission;
use quorate_admission::policy::PolicyIndex;
use quorate_admission::webhook::{WebhookIndex, WebhookIndexOptions};
use quorate_extensions::crd::conversion::Webhooks;
use quorate_extensions::crd::publisher::Publisher;
use quorate_extensions::services::ServiceAddresses;
use quorate_registry::derived::{Informed, recording_writes};
use quorate_registry::features::{Feature, Gates};
use quorate_registry::write::{DeclarativeCounts, Writer};
use quorate_registry::{Catalogue, CurrentCatalogue};
use quorate_trace::Tracer;

/// What an [`Api`] is made of.
pub struct ApiOptions {
    /// The naming profile of the cluster.
    pub naming: Naming,
    /// What is served at first.
    pub catalogue: Catalogue,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// Clock, randomness, network.
    pub env: Env,
    /// What `/version` says.
    pub version: Version,
    /// Where clients reach this server, `HOST:PORT`.
    pub address: String,
    /// Where the process stands: [`Phase::Starting`] when the store has to catch up first.
    pub phase: Phase,
    /// How users authenticate.
    pub authentication: AuthenticationOptions,
    /// The audit trail, where there is one.
    pub audit: Option<Arc<Audit>>,
    /// The authorization modes, in the order in which they are asked.
    pub authorization: Vec<ModeOptions>,
    /// Authenticates continue tokens: 32 random bytes, the same on every node of a cluster.
    pub token_secret: [u8; 32],
    /// How many requests may run at one time.
    pub in_flight: InFlightLimits,
    /// Whether the limits of what reads and what writes are one sum, which is divided among the
    /// priority levels. They need to be limits for that: with 0 in one of them they stay apart.
    pub priority_and_fairness: bool,
    /// Which features are on.
    pub gates: Gates,
    /// The authorities of webhooks whose configuration names none.
    pub webhook_roots: Vec<CertificateDer<'static>>,
    /// Bytes of protobuf messages that are kept for all readers, at most.
    pub protobuf_cache_bytes: usize,
    /// When lists are looked up in an index.
    pub selector_indexes: SelectorIndexOptions,
    /// Reaches the kubelets of nodes.
    pub kubelets: KubeletClient,
    /// Where is counted what the server does.
    pub metrics: Arc<Registry>,
    /// Traces requests; `None` where no traces are kept.
    pub tracer: Option<Arc<Tracer>>,
}

/// The answer to `/version`.
#[derive(Debug, Clone, Default)]
pub struct Version {
    /// The release and the build, for example `v1.35.0+quorate-0.1.0`.
    pub git_version: String,
    /// The commit of the build, or empty.
    pub git_commit: String,
    /// RFC 3339, or empty.
    pub build_date: String,
    /// What compiled the build, for example `rustc 1.95.0`, or empty. Clients know it as
    /// `goVersion`.
    pub compiler: String,
}

/// The API of a cluster as one node serves it, independent of any connection.
pub struct Api {
    /// Every name that depends on the naming profile.
    pub names: &'static Names,
    /// What is served.
    pub catalogue: Arc<CurrentCatalogue>,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// Clock, randomness, network.
    pub env: Env,
    /// Where the process stands.
    pub lifecycle: Lifecycle,
    /// The checks behind `/livez` and `/readyz`; components register theirs here.
    pub health: Health,
    /// What makes the pages under `/backup`; set by a node that has them.
    pub backup_pages: OnceLock<Arc<dyn BackupPages>>,
    /// The audit trail, where there is one.
    pub audit: Option<Arc<Audit>>,
    /// Decides what users may do.
    pub authorizer: Arc<Authorizer>,
    /// Finds the user of a request.
    pub authentication: Authentication,
    /// Brings custom resources into the catalogue; `None` where definitions are not served.
    pub custom_resources: Option<Arc<Publisher>>,
    pub(crate) admission: Arc<Admission>,
    /// What declarative validation has come to.
    pub declarative_counts: Arc<DeclarativeCounts>,
    pub(crate) metrics: ServerMetrics,
    /// The store as writers use it: what they propose is measured.
    written: Arc<dyn Store>,
    pub(crate) version: Version,
    pub(crate) address: String,
    pub(crate) tokens: Tokens,
    pub(crate) fanout: Arc<Fanout>,
    pub(crate) openapi: OpenApi,
    pub(crate) discovery: Discovery,
    pub(crate) in_flight: InFlight,
    pub(crate) flow_control: Arc<FlowControl>,
    /// The writes that this node has refused.
    pub(crate) refused_writes: RefusedWrites,
    /// Where lists look up what their selectors name.
    pub(crate) selector_indexes: Arc<SelectorIndexes>,
    pub(crate) gates: Gates,
    pub(crate) formats: Formats,
    pub(crate) kubelets: KubeletClient,
    /// Random bytes that tell this process from others.
    pub(crate) process: [u8; 16],
    /// Numbers requests.
    pub(crate) requests: AtomicU64,
    pub(crate) tracer: Option<Arc<Tracer>>,
}

impl Api {
    /// Puts the parts together; starts nothing.
    #[must_use]
    pub fn new(options: ApiOptions) -> Arc<Self> {
        let names = options.naming.names();
        let cbor = options.gates.has(Feature::CborServingAndStorage);
        let graph = options.catalogue.graph().clone();
        let formats = Formats::new(graph, cbor, options.protobuf_cache_bytes);
        let catalogue = CurrentCatalogue::new(options.catalogue);
        let authorizer = Arc::new(Authorizer::new(AuthorizerOptions {
            names,
            catalogue: &catalogue.load(),
            store: options.store.clone(),
            modes: &measured_modes(&options.authorization, &options.metrics),
        }));
        let mut process = [0; 16];
        options.env.entropy.fill(&mut process);
        let seats = options.in_flight.seats().filter(|_| options.priority_and_fairness);
        let flow_control = flow_control(names, &catalogue, &options.store, seats, &options.metrics);
        let (store, env, registry) = (options.store, options.env, options.metrics);
        let clients = webhook_clients(&env, &store, &catalogue, options.webhook_roots, &registry);
        let conversion = Webhooks {
            clients: clients.clone(),
            entropy: env.entropy.clone(),
            metrics: Conversions::new(&registry),
        };
        let custom_resources = Publisher::new(&catalogue, store.clone(), conversion).map(Arc::new);
        let calls = AdmissionCalls::new(&registry);
        let policies = PolicyIndex::new(&catalogue.load(), store.clone(), env.clock.clone());
        let policies = policies.map(|policies| Arc::new(policies.with_metrics(calls.clone())));
        let webhooks = webhook_index(&env, &store, &catalogue, clients, &registry);
        let mut states = derived_states(&authorizer, &flow_control, custom_resources.as_deref());
        states.extend(policies.as_ref().map(|policies| policies.derived_state()));
        states.extend(webhooks.as_ref().map(|webhooks| webhooks.derived_state()));
        let store = recording_writes(store, states);
        let admission = Admission::new(names, catalogue.clone(), store.clone());
        let admission = admission.with_policies(policies).with_webhooks(webhooks);
        let admission = Arc::new(admission.with_metrics(calls));
        let refused_writes = RefusedWrites::new(env.clock.now_ms());
        let api = Self {
            names,
            admission,
            declarative_counts: Arc::default(),
            written: measured(store.clone(), &registry),
            metrics: ServerMetrics::new(registry, names, options.in_flight),
            audit: options.audit,
            authentication: Authentication::new(names, options.authentication),
            store,
            authorizer,
            openapi: OpenApi::default(),
            discovery: Discovery::default(),
            fanout: Arc::default(),
            tokens: Tokens::new(options.token_secret),
            in_flight: InFlight::new(options.in_flight),
            flow_control,
            custom_resources,
            formats,
            gates: options.gates,
            kubelets: options.kubelets,
            health: Health::default(),
            backup_pages: OnceLock::new(),
            process,
            requests: AtomicU64::new(0),
            tracer: options.tracer,
            lifecycle: Lifecycle::new(options.phase),
            catalogue,
            env,
            refused_writes,
            selector_indexes: Arc::new(SelectorIndexes::new(options.selector_indexes)),
            version: options.version,
            address: options.address,
        };
        api.observe_itself();
        Arc::new(api)
    }

    /// Has metrics ask what the server knows already.
    fn observe_itself(&self) {
        let Version { git_version, git_commit, build_date, compiler } = self.version.clone();
        let observed = Observed {
            store: &self.store,
            gates: &self.gates,
            build: &BuildFacts { git_version, git_commit, build_date, compiler },
            audit: self.audit.as_ref(),
            declarative: &self.declarative_counts,
            names: self.names,
            catalogue: &self.catalogue,
            authorizer: &self.authorizer,
            service_accounts: &self.authentication.service_accounts,
            messages: self.formats.messages(),
            selector_indexes: &self.selector_indexes,
        };
        observe(&self.metrics.registry, &observed);
    }

    /// What its parts derive from stored objects: for the informer of the node.
    #[must_use]
    pub fn derived_states(&self) -> Vec<Arc<dyn Informed>> {
        let custom_resources = self.custom_resources.as_deref();
        let mut states = derived_states(&self.authorizer, &self.flow_control, custom_resources);
        states.extend(self.admission.derived_states());
        states
    }

    /// Makes what discovery and OpenAPI answer from, so that no client has to wait for it.
    pub fn make_documents(&self) {
        let catalogue = self.catalogue.load();
        self.discovery.of(&catalogue);
        self.openapi.of(&catalogue);
    }

    /// Whether what discovery answers from has been made.
    #[must_use]
    pub fn has_discovery(&self) -> bool {
        self.discovery.is_made()
    }

    /// Whether what OpenAPI answers from has been made.
    #[must_use]
    pub fn has_openapi(&self) -> bool {
        self.openapi.is_made()
    }

    /// What flow control classifies requests by.
    #[must_use]
    pub fn flow_control_states(&self) -> Vec<Arc<dyn Informed>> {
        self.flow_control.derived_states()
    }

    /// What admission knows of policies and webhooks.
    #[must_use]
    pub fn admission_states(&self) -> Vec<Arc<dyn Informed>> {
        self.admission.derived_states()
    }

    /// The one way to write objects, for handlers and controllers alike: the server's own writes,
    /// until the writer is told a user.
    #[must_use]
    pub fn writer(&self) -> Writer {
        let (store, env) = (self.written.clone(), self.env.clone());
        Writer::with_gates(self.names, store, env, self.gates.clone())
            .admitted_by(self.admission.clone())
            .counted_in(self.declarative_counts.clone())
            .allocations_counted_by(self.metrics.allocations.clone())
    }

    /// What controllers read and write with.
    #[must_use]
    pub fn cluster(&self) -> Arc<Cluster> {
        Arc::new(Cluster {
            names: self.names,
            catalogue: self.catalogue.clone(),
            custom_resources: self.custom_resources.clone(),
            store: self.store.clone(),
            env: self.env.clone(),
            writer: self.writer(),
            authorizer: self.authorizer.clone(),
            service_accounts: self.authentication.service_accounts.clone(),
            quota_locks: self.admission.quota_locks().clone(),
            metrics: self.metrics.workqueues.clone(),
        })
    }
}

/// Priority and fairness, counted and sampled.
fn flow_control(
    names: &Names,
    catalogue: &CurrentCatalogue,
    store: &Arc<dyn Store>,
    seats: Option<u32>,
    registry: &Registry,
) -> Arc<FlowControl> {
    let flow_control = Arc::new(FlowControl::new(FlowControlOptions {
        names,
        catalogue: &catalogue.load(),
        store: store.clone(),
        seats,
        metrics: FlowControlCounts::new(registry),
    }));
    observe_levels(registry, flow_control.clone());
    flow_control
}

/// The admission webhooks, counted.
fn webhook_index(
    env: &Env,
    store: &Arc<dyn Store>,
    catalogue: &CurrentCatalogue,
    clients: Arc<Clients>,
    registry: &Registry,
) -> Option<Arc<WebhookIndex>> {
    let options = WebhookIndexOptions {
        store: store.clone(),
        clients,
        clock: env.clock.clone(),
        entropy: env.entropy.clone(),
        metrics: WebhookCalls::new(registry),
    };
    let webhooks = WebhookIndex::new(&catalogue.load(), options).map(Arc::new);
    observe_breakers(registry, webhooks.clone());
    webhooks
}

/// The clients of all webhooks.
fn webhook_clients(
    env: &Env,
    store: &Arc<dyn Store>,
    catalogue: &CurrentCatalogue,
    roots: Vec<CertificateDer<'static>>,
    registry: &Registry,
) -> Arc<Clients> {
    let services = Arc::new(ServiceAddresses::new(&catalogue.load(), store.clone()));
    let (network, clock) = (env.network.clone(), env.clock.clone());
    let clients = Clients::new(Outside { network, clock, services, roots });
    Arc::new(clients.counted_by(RestClientMetrics::new(registry)))
}

fn derived_states(
    authorizer: &Authorizer,
    flow_control: &FlowControl,
    custom_resources: Option<&Publisher>,
) -> Vec<Arc<dyn Informed>> {
    let mut states = [authorizer.derived_states(), flow_control.derived_states()].concat();
    states.extend(custom_resources.map(Publisher::derived_state));
    states
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}
