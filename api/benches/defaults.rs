//! The time until an empty cluster has the default roles and bindings, all of them in one
//! transaction.
//!
//! `cargo bench -p quorate-api --bench defaults`. A bar to hold: below 1 s. The store is in memory,
//! so what a quorum and its disks take for that one transaction comes on top. The bench prints the
//! time from the transaction before it (the last of the other objects that every cluster has) until
//! it was committed, and the time from the start of the controllers until the authorizer is ready,
//! with all the other objects in it.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_access::authentication::AuthenticationOptions;
use quorate_access::authorization::ModeOptions;
use quorate_access::flow_control::InFlightLimits;
use quorate_api::kubelet::KubeletClient;
use quorate_api::lifecycle::Phase;
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version};
use quorate_controllers::{Controllers, ControllersOptions};
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Outcome, Store, Txn};

const NAMING: Naming = Naming::Svc;
/// The prefix of the keys of roles and bindings.
const ROLES: &[u8] = b"o/rbac.authorization.svc.io/";
const PLACES: usize = 4;
/// Clusters that are started.
const STARTS: usize = 50;

/// A store that notes when each transaction was done, and how many roles and bindings it wrote.
struct Timed {
    store: MemoryStore,
    done: Mutex<Vec<(Instant, usize)>>,
}

#[async_trait]
impl Layer for Timed {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let roles =
            txn.operations.iter().filter(|operation| operation.key().starts_with(ROLES)).count();
        let outcome = self.store.txn(txn).await;
        self.done.lock().push((Instant::now(), roles));
        outcome
    }
}

/// Measurements of one start.
struct Start {
    roles: usize,
    reconciled: Duration,
    ready: Duration,
}

fn api(store: Arc<dyn Store>) -> Arc<Api> {
    Api::new(ApiOptions {
        naming: NAMING,
        catalogue: builtin::catalogue_of(NAMING.names()),
        store,
        env: SystemEnv::env(),
        version: Version::default(),
        address: String::new(),
        phase: Phase::Serving,
        authentication: AuthenticationOptions::default(),
        audit: None,
        authorization: vec![ModeOptions::Rules],
        token_secret: [7; 32],
        in_flight: InFlightLimits { read_only: PLACES, mutating: PLACES, long_running: PLACES },
        priority_and_fairness: true,
        gates: "".parse().unwrap(),
        webhook_roots: Vec::new(),
        protobuf_cache_bytes: 64 << 20,
        selector_indexes: SelectorIndexOptions::default(),
        kubelets: KubeletClient::default(),
        metrics: Arc::default(),
        tracer: None,
    })
}

/// Starts the controllers of an empty cluster and waits for its roles.
async fn start() -> Start {
    let memory = MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock));
    let store = Arc::new(Timed { store: memory, done: Mutex::default() });
    let api = api(store.clone());
    let (informer, _) = Informer::new(InformerOptions { states: api.derived_states() });
    tokio::spawn(informer.run());
    let (controllers, handle) = Controllers::new(ControllersOptions {
        cluster: api.cluster(),
        root_ca: String::new(),
        event_lifetime: Duration::from_secs(3600),
        signing: None,
        api_port: 6443,
        api_servers: Arc::new(Vec::new()),
    });
    let begun = Instant::now();
    tokio::spawn(controllers.run());
    while !api.authorizer.is_ready() {
        tokio::task::yield_now().await;
    }
    let ready = begun.elapsed();
    handle.stop();
    let done = store.done.lock();
    let at = done.iter().position(|(_, roles)| *roles > 0).unwrap();
    let before = at.checked_sub(1).map_or(begun, |last| done[last].0);
    let (then, roles) = done[at];
    Start { roles, reconciled: then - before, ready }
}

/// Prints the distribution of times.
fn print(what: &str, times: impl Iterator<Item = Duration>) {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    println!("{what}: p50 {:?}, max {:?}", times[times.len() / 2], times[times.len() - 1]);
}

fn main() {
    let one = |_| {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(start())
    };
    let starts: Vec<Start> = (0..STARTS).map(one).collect();
    println!("{} default roles and bindings, {STARTS} empty clusters", starts[0].roles);
    print("reconciled in one transaction", starts.iter().map(|start| start.reconciled));
    print("ready after the start of the controllers", starts.iter().map(|start| start.ready));
}
