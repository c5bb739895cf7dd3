//! One node's API server: the production server, its informer and its controllers over the
//! node's store.
//!
//! Invariant: wired as the binary wires it, as far as a simulation has the parts: no audit trail,
//! no signing of certificates, and the keys of tokens are given instead of kept in the store.

use std::sync::Arc;
use std::time::Duration;

use quorate_access::authentication::AuthenticationOptions;
use quorate_access::authorization::ModeOptions;
use quorate_access::flow_control::InFlightLimits;
use quorate_api::kubelet::KubeletClient;
use quorate_api::lifecycle::Phase;
use quorate_api::server::{ApiServer, Limits, Options};
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version};
use quorate_controllers::{Controllers, ControllersOptions};
use quorate_env::Env;
use quorate_kinds::builtin;
use quorate_raft::Replica;
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_registry::features::Gates;
use quorate_store::{Revision, Store};

use super::broken::{self, BrokenApi};
use super::plan::{ApiPlan, NAMING};
use crate::gateway::CLIENT_PORT;

/// Longer than any run.
const EVENT_LIFETIME: Duration = Duration::from_secs(3600);
/// Collections are small here: an index answers wherever there is one.
const INDEXES: SelectorIndexOptions =
    SelectorIndexOptions { max_bytes: 64 << 20, min_objects: 0, objects_per_candidate: 1 };
/// Places for requests of each kind: more than all simulated clients ask for together.
const PLACES: usize = 64;

/// Serves until something that should not end does; says what.
pub(crate) async fn serve(
    plan: &ApiPlan,
    replica: &Replica,
    store: Arc<dyn Store>,
    env: Env,
) -> String {
    match Box::pin(try_serve(plan, replica, store, env)).await {
        Ok(()) => "a part of the API server ended".to_owned(),
        Err(reason) => reason,
    }
}

async fn try_serve(
    plan: &ApiPlan,
    replica: &Replica,
    store: Arc<dyn Store>,
    env: Env,
) -> Result<(), String> {
    let of_controllers = broken::store_of_controllers(plan.broken, &store);
    let of_controllers = of_controllers.map(|store| api(plan, store, env.clone()));
    let api = api(plan, broken::store(plan.broken, store), env);
    api.authentication.service_accounts.set_keys(plan.keys()?);
    let options = Options {
        address: format!("0.0.0.0:{CLIENT_PORT}"),
        tls: Arc::new(plan.server_tls()?),
        limits: Limits::default(),
        shutdown_delay: Duration::ZERO,
        shutdown_grace: Duration::ZERO,
    };
    let (server, _stop) =
        ApiServer::bind(api.clone(), options).await.map_err(|error| error.to_string())?;
    let options = ControllersOptions {
        cluster: of_controllers.unwrap_or_else(|| api.clone()).cluster(),
        root_ca: plan.authority.clone(),
        event_lifetime: EVENT_LIFETIME,
        api_port: CLIENT_PORT,
        api_servers: Arc::new(Vec::new()),
        signing: None,
    };
    let (controllers, _stop) = Controllers::new(options);
    let custom_resources =
        api.custom_resources.clone().ok_or_else(|| "definitions are not served".to_owned())?;
    let (informer, _stop) = Informer::new(InformerOptions { states: api.derived_states() });
    let recovery = async {
        replica.recovered().await;
        // The binary waits for its keys here, which are there from the first transaction on: no
        // client is shown revision 0.
        api.store.applied(Revision::ZERO.next()).await;
        // An error only says that the state is not there yet.
        while custom_resources.catch_up().await.is_err() {}
        api.lifecycle.serve();
        std::future::pending().await
    };
    tokio::select! {
        () = recovery => {}
        () = server.run() => {}
        () = controllers.run() => {}
        () = informer.run() => {}
        () = custom_resources.run(), if plan.broken != Some(BrokenApi::FrozenDefinitions) => {}
    }
    Ok(())
}

fn api(plan: &ApiPlan, store: Arc<dyn Store>, env: Env) -> Arc<Api> {
    Api::new(ApiOptions {
        naming: NAMING,
        catalogue: builtin::catalogue(&plan.graph),
        store,
        env,
        version: Version::default(),
        address: String::new(),
        phase: Phase::Starting,
        authentication: AuthenticationOptions::default(),
        audit: None,
        authorization: vec![ModeOptions::Rules],
        token_secret: [7; 32],
        in_flight: InFlightLimits { read_only: PLACES, mutating: PLACES, long_running: PLACES },
        priority_and_fairness: true,
        gates: Gates::default(),
        webhook_roots: Vec::new(),
        protobuf_cache_bytes: 64 << 20,
        selector_indexes: INDEXES,
        kubelets: KubeletClient::default(),
        metrics: Arc::default(),
        tracer: None,
    })
}
