//! Runs the controllers while this node leads, and only then.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use quorate_meta::Map;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::certificates::{self, Signing};
use super::context::{Context, RETRY};
use super::events::{self, Notes};
use super::{
    ApiServers, api_endpoints, api_services, bootstrap, flow_schemas, garbage, namespaces, quotas, roles,
    service_ranges, token_secrets,
};
use crate::cluster::Cluster;
use crate::namespace_objects::{self, Provided};
use quorate_registry::error::Error;

/// How often a node looks whether it leads.
const LOOK_AT_LEADER: Duration = Duration::from_millis(100);

/// What the controllers need.
#[derive(Debug, Clone)]
pub struct ControllersOptions {
    /// The cluster that they look after.
    pub cluster: Arc<Cluster>,
    /// The certificate (PEM) of the authority that signs servers' certificates, published in every namespace; empty
    /// publishes nothing.
    pub root_ca: String,
    /// How long an event lives after it was last written.
    pub event_lifetime: Duration,
    /// The port that the API listens on, where the API's own service leads to.
    pub api_port: u16,
    /// Who knows where the API of every member is.
    pub api_servers: Arc<dyn ApiServers>,
    /// What the well-known signers need; without it they approve and issue nothing.
    pub signing: Option<Signing>,
}

/// The controllers of one node.
#[derive(Debug)]
pub struct Controllers {
    options: ControllersOptions,
    stop: CancellationToken,
}

/// Stops the controllers.
#[derive(Debug, Clone)]
pub struct ControllersHandle {
    stop: CancellationToken,
}

impl ControllersHandle {
    /// Ends [`Controllers::run`], at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Controllers {
    /// The service and what stops it.
    #[must_use]
    pub fn new(options: ControllersOptions) -> (Self, ControllersHandle) {
        let stop = CancellationToken::new();
        (Self { options, stop: stop.clone() }, ControllersHandle { stop })
    }

    /// Waits for leadership, runs every controller until it is lost, and so on until stopped.
    pub async fn run(self) {
        let lead = async {
            loop {
                self.leadership(true).await;
                tracing::info!("controllers start: this node leads");
                tokio::select! {
                    biased;
                    () = self.leadership(false) => tracing::info!("controllers stop: this node no longer leads"),
                    () = self.run_all() => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = lead => {}
        }
    }

    /// Resolves once this node leads, or no longer does.
    async fn leadership(&self, leads: bool) {
        loop {
            let status = self.options.cluster.store.status();
            if (status.leader == Some(status.node)) == leads {
                return;
            }
            sleep(LOOK_AT_LEADER).await;
        }
    }

    async fn run_all(&self) {
        let context = |manager| Context::new(&self.options.cluster, manager);
        let (starter, reaper) = (context("bootstrap"), context("namespace-controller"));
        let (accounts, publisher) = (context("service-account-controller"), context("root-ca-publisher"));
        let aggregator = context("clusterrole-aggregation-controller");
        let (sweeper, collector) = (context("event-ttl-controller"), context("generic-garbage-collector"));
        let holders = context("service-account-token-controller");
        let (ranger, aggregated) = (context("service-cidr-controller"), context("apiservice-availability-controller"));
        let (pointer, counter) = (context("api-endpoints-controller"), context("resourcequota-controller"));
        let flow = context("flow-schema-controller");
        let start = async {
            while let Err(error) = bootstrap::run(&starter).await {
                tracing::warn!(%error, "bootstrap objects cannot be made yet");
                sleep(RETRY).await;
            }
            while let Err(error) = roles::reconcile::run(&starter).await {
                tracing::warn!(%error, "default roles cannot be made yet");
                sleep(RETRY).await;
            }
            while let Err(error) = bootstrap::api_service(&starter, self.options.api_port).await {
                tracing::warn!(%error, "the service of the API cannot be made yet");
                sleep(RETRY).await;
            }
        };
        let account = Provided { plural: "serviceaccounts", name: "default".into(), fields: Map::new() };
        let certificate = self.root_ca();
        let mut notes = Notes::default();
        let lifetime = self.options.event_lifetime;
        let expire = async {
            loop {
                let Err(error) = events::run(&sweeper, lifetime, &mut notes).await else { continue };
                tracing::warn!(%error, controller = sweeper.manager, "a controller starts again");
                sleep(RETRY).await;
            }
        };
        let publish = async {
            let Some(certificate) = &certificate else { return };
            tokio::join!(
                again(&publisher, || namespace_objects::run(&publisher, certificate)),
                again(&publisher, || certificates::publish(&publisher, &self.options.root_ca)),
            );
        };
        let signer = context("certificate-controller");
        let sign = async {
            let Some(signing) = &self.options.signing else { return };
            again(&signer, || certificates::tend(&signer, signing)).await;
        };
        // What others do makes room where the store is too full for the first objects.
        tokio::join!(
            start,
            again(&starter, || bootstrap::keep_flow(&starter)),
            again(&reaper, || namespaces::run(&reaper)),
            again(&aggregator, || roles::aggregate::run(&aggregator)),
            again(&collector, || garbage::run(&collector)),
            again(&accounts, || namespace_objects::run(&accounts, &account)),
            again(&holders, || token_secrets::run(&holders, &self.options.root_ca)),
            again(&signer, || certificates::clean(&signer)),
            again(&ranger, || service_ranges::run(&ranger)),
            again(&aggregated, || api_services::run(&aggregated)),
            again(&pointer, || api_endpoints::run(&pointer, &*self.options.api_servers)),
            again(&counter, || quotas::run(&counter)),
            again(&flow, || flow_schemas::run(&flow)),
            sign,
            publish,
            expire,
        );
    }

    /// The published certificate, where there is one.
    fn root_ca(&self) -> Option<Provided> {
        let ControllersOptions { cluster, root_ca, .. } = &self.options;
        let description = format!(
            "Contains a CA bundle that can be used to verify the API server when using internal endpoints such as the internal \
             service IP or {}.default.svc. No other usage is guaranteed across clusters.",
            cluster.names.service_api
        );
        let annotations = Map::from([(cluster.names.domain_key("description"), description)]);
        let metadata = Map::from([("annotations", annotations)]);
        let fields = Map::from([("metadata", metadata), ("data", Map::from([("ca.crt", root_ca.as_str())]))]);
        let name = cluster.names.configmap_root_ca.into();
        (!root_ca.is_empty()).then_some(Provided { plural: "configmaps", name, fields })
    }
}

/// Runs a controller again and again, with a pause after a failure.
async fn again<F, R>(context: &Context, mut run: F)
where
    F: FnMut() -> R,
    R: Future<Output = Result<(), Error>>,
{
    loop {
        if let Err(error) = run().await {
            tracing::warn!(%error, controller = context.manager, "a controller starts again");
        }
        sleep(RETRY).await;
    }
}
