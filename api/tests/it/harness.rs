//! The test server without a network: requests go straight into the filters, with an identity in
//! place of a connection.
//!
//! Time stands still unless a test moves it, and randomness counts, so answers repeat byte for
//! byte.

// The fuzzer has the harness as well, by its path.
#[path = "harness/answer.rs"]
mod answer;
#[path = "harness/events.rs"]
mod events;
#[path = "harness/kept_traces.rs"]
mod kept_traces;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use quorate_access::authentication::token::{KeyMaterial, KeySet, TokenOptions};
use quorate_access::authentication::{AuthenticationOptions, ConnectionIdentity, User};
use quorate_access::authorization::ModeOptions;
use quorate_access::flow_control::InFlightLimits;
use quorate_api::audit::Audit;
use quorate_api::body::Body;
use quorate_api::kubelet::KubeletClient;
use quorate_api::lifecycle::Phase;
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version, filters};
use quorate_controllers::{Controllers, ControllersHandle, ControllersOptions};
use quorate_env::{Clock, Entropy, Env, SystemEnv};
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_store::{MemoryOptions, MemoryStore, Retention, Store};
use quorate_trace::{SamplerOptions, Tracer};
use serde_json::{Value, json};
use tokio::time::{Duration, timeout};

pub(crate) use answer::Answer;
pub(crate) use events::Events;
use kept_traces::KeptTraces;

/// 2030-01-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_893_456_000_000;
/// No single step of a test takes longer, in the time that tests may run fast.
const PATIENCE: Duration = Duration::from_secs(120);

/// A clock that tests move.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicU64);

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicU64::new(START_MS))
    }
}

impl TestClock {
    pub(crate) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that count up.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Entropy for Counter {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let next = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&next.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The API over a store in memory.
pub(crate) struct Server {
    pub(crate) api: Arc<Api>,
    pub(crate) clock: Arc<TestClock>,
    /// The key that signs tokens.
    pub(crate) key: KeyMaterial,
    pub(crate) identity: ConnectionIdentity,
    /// What it has told of requests.
    pub(crate) traces: Arc<KeptTraces>,
}

/// Options of the server that only some tests set.
struct Particulars<'g> {
    authentication: AuthenticationOptions,
    authorization: Vec<ModeOptions>,
    gates: &'g str,
    priority_and_fairness: bool,
    selector_indexes: SelectorIndexOptions,
}

impl Default for Particulars<'_> {
    fn default() -> Self {
        let authentication = AuthenticationOptions::default();
        let (authorization, gates) = (vec![ModeOptions::Rules], GATES);
        let selector_indexes = SelectorIndexOptions::default();
        let priority_and_fairness = true;
        Self { authentication, authorization, gates, priority_and_fairness, selector_indexes }
    }
}

/// The ranges that services get their addresses from.
const RANGES: &str = "/apis/networking.svc.io/v1/servicecidrs";

/// The issuer of tokens, which is their audience as well.
pub(crate) const ISSUER: &str = "https://svc.default.svc";

/// The issuer and audiences of service account tokens.
fn tokens() -> TokenOptions {
    let issuer = vec![ISSUER.to_owned()];
    TokenOptions {
        audiences: issuer.clone(),
        issuers: issuer,
        max_expiration: Some(86_400),
        ..TokenOptions::default()
    }
}

/// Feature gates that are on unless a test says otherwise.
const GATES: &str = "AllowUnsafeMalformedObjectDeletion=true";

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Naming::Svc, Retention::default())
    }

    pub(crate) fn with(naming: Naming, retention: Retention) -> Self {
        Self::make(naming, retention, Particulars::default())
    }

    /// A server with the namespace `a` on which these features are switched on or off.
    pub(crate) async fn with_gates(gates: &str) -> Self {
        let server = Self::make(
            Naming::Svc,
            Retention::default(),
            Particulars { gates, ..Particulars::default() },
        );
        server.namespace("a").await;
        server
    }

    /// A server that finds out in these ways who asks, besides by tokens of service accounts.
    pub(crate) fn with_authentication(authentication: AuthenticationOptions) -> Self {
        let particulars = Particulars { authentication, ..Particulars::default() };
        Self::make(Naming::Svc, Retention::default(), particulars)
    }

    /// A server without priority and fairness, which has four places for each class of requests.
    pub(crate) fn with_plain_limits() -> Self {
        let particulars = Particulars { priority_and_fairness: false, ..Particulars::default() };
        Self::make(Naming::Svc, Retention::default(), particulars)
    }

    /// One of several servers over a store; the clock is the store's.
    pub(crate) fn over(store: Arc<dyn Store>, clock: Arc<TestClock>) -> Self {
        Self::build(Naming::Svc, store, clock, Particulars::default())
    }

    /// The same, which looks up selected objects when this says so.
    pub(crate) fn with_indexes(
        store: Arc<dyn Store>,
        clock: Arc<TestClock>,
        selector_indexes: SelectorIndexOptions,
    ) -> Self {
        let particulars = Particulars { selector_indexes, ..Particulars::default() };
        Self::build(Naming::Svc, store, clock, particulars)
    }

    /// A server with these authorization modes.
    pub(crate) fn with_modes(authorization: Vec<ModeOptions>) -> Self {
        let particulars = Particulars { authorization, ..Particulars::default() };
        Self::make(Naming::Svc, Retention::default(), particulars)
    }

    fn make(naming: Naming, retention: Retention, particulars: Particulars<'_>) -> Self {
        let clock = Arc::<TestClock>::default();
        let store =
            MemoryStore::new(MemoryOptions { retention, ..MemoryOptions::new(clock.clone()) });
        Self::build(naming, Arc::new(store), clock, particulars)
    }

    fn build(
        naming: Naming,
        store: Arc<dyn Store>,
        clock: Arc<TestClock>,
        particulars: Particulars<'_>,
    ) -> Self {
        let Particulars { authentication, authorization, gates, .. } = particulars;
        let Particulars { priority_and_fairness, selector_indexes, .. } = particulars;
        // What tests of the plain limits exhaust, or what is enough for all others.
        let (read_only, mutating) = if priority_and_fairness { (400, 200) } else { (4, 4) };
        let entropy: Arc<dyn Entropy> = Arc::<Counter>::default();
        let traces = Arc::<KeptTraces>::default();
        let api = Api::new(ApiOptions {
            naming,
            catalogue: builtin::catalogue_of(naming.names()),
            store,
            env: Env { clock: clock.clone(), entropy, network: SystemEnv::env().network },
            version: Version { git_version: "v1.35.0+test".into(), ..Version::default() },
            address: "127.0.0.1:6443".into(),
            phase: Phase::Serving,
            authentication: AuthenticationOptions { tokens: tokens(), ..authentication },
            audit: None,
            authorization,
            token_secret: [7; 32],
            in_flight: InFlightLimits { read_only, mutating, long_running: 4 },
            priority_and_fairness,
            gates: gates.parse().unwrap(),
            webhook_roots: Vec::new(),
            protobuf_cache_bytes: 64 << 20,
            selector_indexes,
            kubelets: KubeletClient::default(),
            metrics: Arc::default(),
            tracer: Some(Tracer::new([9; 16], SamplerOptions::default(), traces.clone())),
        });
        let key = KeyMaterial::generate(START_MS).unwrap();
        let keys = KeySet::new(std::slice::from_ref(&key)).unwrap();
        api.authentication.service_accounts.set_keys(keys);
        let (informer, _) = Informer::new(InformerOptions { states: api.derived_states() });
        tokio::spawn(informer.run());
        let publisher = api.custom_resources.clone().expect("definitions are served");
        tokio::spawn(async move { publisher.run().await });
        let identity =
            ConnectionIdentity::of_user(User::new("admin", ["system:masters".to_owned()]));
        Self { api, clock, key, identity, traces }
    }

    /// Gives the server an audit trail; comes before the first request.
    pub(crate) fn audited(&mut self, audit: Audit) {
        Arc::get_mut(&mut self.api).expect("nobody else has it yet").audit = Some(Arc::new(audit));
    }

    /// The same server with requests from another user; from an anonymous client for `None`.
    pub(crate) fn by(&self, user: Option<User>) -> Self {
        let identity = user.map_or_else(ConnectionIdentity::default, ConnectionIdentity::of_user);
        Self {
            api: self.api.clone(),
            clock: self.clock.clone(),
            key: self.key.clone(),
            identity,
            traces: self.traces.clone(),
        }
    }

    /// A server with the namespace `a`.
    pub(crate) async fn with_namespace() -> Self {
        let server = Self::new();
        server.namespace("a").await;
        server
    }

    /// The same with the service account that its pods run as.
    pub(crate) async fn for_pods() -> Self {
        let server = Self::with_namespace().await;
        server.default_account("a").await;
        server
    }

    /// Makes the service account of a namespace's pods, as the controllers do.
    pub(crate) async fn default_account(&self, namespace: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let body = json!({"metadata": {"name": "default"}}).to_string();
        let answer = self.send(Method::POST, &path, &[], &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    /// Runs the controllers until the roles are there that every cluster has.
    pub(crate) async fn defaults(&self) -> ControllersHandle {
        let event_lifetime = Duration::from_secs(3600);
        let api = self.api.clone();
        let options = ControllersOptions {
            cluster: api.cluster(),
            root_ca: String::new(),
            event_lifetime,
            signing: None,
            api_port: 6443,
            api_servers: Arc::new(Vec::new()),
        };
        let (controllers, handle) = Controllers::new(options);
        tokio::spawn(controllers.run());
        let ready = async {
            while !self.api.authorizer.is_ready() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, ready).await.expect("default roles");
        handle
    }

    pub(crate) async fn namespace(&self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let answer = self.send(Method::POST, "/api/v1/namespaces", &[], &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    /// Gives services a range of addresses, as the controllers make it for a new cluster.
    pub(crate) async fn range(&self) {
        let metadata =
            json!({"name": "svc", "finalizers": ["networking.svc.io/service-cidr-finalizer"]});
        let body = json!({"metadata": metadata, "spec": {"cidrs": ["10.96.0.0/16"]}});
        let answer = self.send(Method::POST, RANGES, &[], &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.send(Method::GET, path, &[("accept", accept)], "").await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        let (status, headers, body) = self.open(method, path, headers, body).await;
        let body =
            timeout(PATIENCE, body.collect()).await.expect("a body that ends").unwrap().to_bytes();
        Answer { status, headers, body }
    }

    /// Sends a request and gives the head of the answer, and its body still unread.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> (StatusCode, HeaderMap, Body) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_ref()))).unwrap();
        let answer = timeout(PATIENCE, filters::handle(&self.api, &self.identity, request));
        let (head, body) = answer.await.expect("an answer").into_parts();
        (head.status, head.headers, body)
    }

    /// Creates a ConfigMap in a namespace; gives its version.
    pub(crate) async fn create(
        &self,
        namespace: &str,
        name: &str,
        labels: &[(&str, &str)],
    ) -> String {
        let labels: HashMap<_, _> = labels.iter().copied().collect();
        let body = json!({"metadata": {"name": name, "labels": labels}, "data": {"k": "v"}});
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let answer = self.send(Method::POST, &path, &[], &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.version()
    }

    /// Merges into a ConfigMap of the namespace `a`; gives its version.
    pub(crate) async fn patch(&self, name: &str, patch: Value) -> String {
        let path = format!("/api/v1/namespaces/a/configmaps/{name}");
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = self.send(Method::PATCH, &path, &headers, &patch.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.version()
    }

    /// Deletes a ConfigMap of the namespace `a`.
    pub(crate) async fn delete(&self, name: &str) {
        let path = format!("/api/v1/namespaces/a/configmaps/{name}");
        let answer = self.send(Method::DELETE, &path, &[], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.watch_as(path, "").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Events {
        let (status, _, body) = self.open(Method::GET, path, &[("accept", accept)], "").await;
        assert_eq!(status, 200);
        Events::of(body)
    }
}
