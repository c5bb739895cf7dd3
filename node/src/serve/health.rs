//! What the parts of a node say about themselves: the health checks and who answers them.
//!
//! Invariant: every check of both naming profiles is answered by what plays its part here.
//!
//! Not here: the endpoints, and the order of the checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use quorate_api::Api;
use quorate_api::health::{AUTOREGISTER_COMPLETION, INFORMERS, LOG, Probes, STORE, UnknownCheck};
use quorate_api::lifecycle::Phase;
use quorate_meta::{Names, Value};
use quorate_raft::Replica;
use quorate_registry::derived::Informed;
use quorate_registry::stored_codec;
use tokio::task::AbortHandle;

use crate::telemetry::LogWriter;

/// The tasks that do what checks are about.
pub(super) struct Tasks {
    /// Reads what this node derives from stored objects.
    pub(super) informer: AbortHandle,
    /// Publishes custom resources; `None` where there are none.
    pub(super) publisher: Option<AbortHandle>,
    /// Runs the controllers while this node leads.
    pub(super) controllers: AbortHandle,
    /// Reads the keys of tokens.
    pub(super) token_keys: AbortHandle,
    /// Waits until this node may serve.
    pub(super) recovery: AbortHandle,
    /// Puts the authorities of a founder into the store, and whether it has.
    pub(super) authorities: (AbortHandle, Arc<AtomicBool>),
}

/// The parts that checks ask.
pub(super) struct Sources {
    pub(super) api: Arc<Api>,
    pub(super) replica: Replica,
    /// The number of this node.
    pub(super) node: u64,
    pub(super) log: LogWriter,
    pub(super) tasks: Tasks,
}

impl Sources {
    /// Registers the answer to every check.
    pub(super) fn register(&self) -> Result<(), UnknownCheck> {
        self.process()?;
        self.derived()?;
        self.definitions()?;
        self.written_by_controllers()?;
        self.api_services()?;
        self.documents()
    }

    fn process(&self) -> Result<(), UnknownCheck> {
        let (log, replica) = (self.log.clone(), self.replica.clone());
        self.add(LOG, Probes::of(move || log.works()))?;
        self.add(STORE, Probes::of(move || replica.failed().now_or_never().is_none()))?;
        let store = self.api.store.clone();
        let counted = move || store.status().size > 0;
        self.hook("storage-object-count-tracker-hook", counted, &self.tasks.recovery)?;
        let (replica, node) = (self.replica.clone(), self.node);
        let is_member = move || replica.members().iter().any(|member| member.node == node);
        self.hook("start-kube-apiserver-identity-lease-controller", is_member, &self.tasks.recovery)
    }

    fn derived(&self) -> Result<(), UnknownCheck> {
        let (api, informer) = (&self.api, &self.tasks.informer);
        self.add(INFORMERS, Probes::of(are_synced(api.derived_states())))?;
        self.hook("generic-apiserver-start-informers", are_synced(api.derived_states()), informer)?;
        let (policies, serving) = (are_synced(api.admission_states()), is_serving(api));
        let admits = move || serving() && policies();
        self.hook("start-apiserver-admission-initializer", admits, informer)?;
        for hook in ["config-consumer", "filter"] {
            let classifies = are_synced(api.flow_control_states());
            self.hook(&format!("priority-and-fairness-{hook}"), classifies, informer)?;
        }
        let authorizer = api.authorizer.clone();
        self.hook("rbac/bootstrap-roles", move || authorizer.is_ready(), informer)?;
        let keys = api.clone();
        let known = move || keys.authentication.service_accounts.keys().is_some();
        self.hook("start-legacy-token-tracking-controller", known, &self.tasks.token_keys)
    }

    fn definitions(&self) -> Result<(), UnknownCheck> {
        let publisher = self.api.custom_resources.clone();
        let read = publisher.iter().map(|publisher| publisher.derived_state()).collect();
        let task = self.tasks.publisher.as_ref().unwrap_or(&self.tasks.informer);
        self.hook("start-apiextensions-informers", are_synced(read), &self.tasks.informer)?;
        let published = {
            let publisher = publisher.clone();
            move || publisher.as_ref().is_none_or(|publisher| publisher.has_published())
        };
        let (controllers, first) = (self.tasks.controllers.clone(), published.clone());
        let started = move || first() && !controllers.is_finished();
        self.hook("start-apiextensions-controllers", started, task)?;
        let serving = is_serving(&self.api);
        self.hook("crd-informer-synced", move || serving() && published(), task)
    }

    /// Objects that the leader's controllers have to write before the cluster is complete.
    fn written_by_controllers(&self) -> Result<(), UnknownCheck> {
        const OBJECTS: [(&str, (&str, &str), &str); 2] = [
            (
                "scheduling/bootstrap-system-priority-classes",
                ("scheduling", "priorityclasses"),
                "system-node-critical",
            ),
            (
                "priority-and-fairness-config-producer",
                ("flowcontrol.apiserver", "flowschemas"),
                "exempt",
            ),
        ];
        let names = self.api.names;
        let namespaces =
            ["default", names.namespace_system, names.namespace_public, names.namespace_node_lease];
        let found = namespaces.map(|name| self.exists(("core", "namespaces"), None, name));
        let all = move || found.iter().all(|exists| exists());
        self.leader_hook("start-system-namespaces-controller", all)?;
        for (hook, resource, name) in OBJECTS {
            self.leader_hook(hook, self.exists(resource, None, name))?;
        }
        let service = names.service_api;
        for hook in
            ["start-service-ip-repair-controllers", "start-kubernetes-service-cidr-controller"]
        {
            let range = self.exists(("networking", "servicecidrs"), None, service);
            self.leader_hook(hook, range)?;
        }
        let own = self.exists(("core", "services"), Some("default"), service);
        self.leader_hook("bootstrap-controller", own)?;
        // Addresses of nodes that have gone are taken from the endpoints of this Service, which has
        // none on a loopback address.
        let collected = self.exists(("core", "services"), Some("default"), service);
        let collector = "start-kube-apiserver-identity-lease-garbage-collector";
        self.leader_hook(collector, collected)?;
        let (task, published) = &self.tasks.authorities;
        let published = published.clone();
        let done = move || published.load(Ordering::Relaxed);
        self.hook("start-cluster-authentication-info-controller", done, task)
    }

    fn api_services(&self) -> Result<(), UnknownCheck> {
        const NEEDS: [(&str, Need); 4] = [
            ("apiservice-status-local-available-controller", Need::Available),
            ("apiservice-status-remote-available-controller", Need::Judged),
            ("apiservice-registration-controller", Need::Judged),
            ("kube-apiserver-autoregistration", Need::Exists),
        ];
        let controllers = &self.tasks.controllers;
        self.hook("start-kube-aggregator-informers", is_serving(&self.api), &self.tasks.recovery)?;
        for (hook, need) in NEEDS {
            let api = self.api.clone();
            self.leader_hook(hook, move || api_services_have(&api, need))?;
        }
        let (api, task) = (self.api.clone(), controllers.clone());
        let available = self.by_leader(move || api_services_have(&api, Need::Available));
        let complete = Probes::of(available);
        let complete = complete.while_alive(move || !task.is_finished());
        self.add(AUTOREGISTER_COMPLETION, complete)
    }

    fn documents(&self) -> Result<(), UnknownCheck> {
        let (api, task) = (self.api.clone(), &self.tasks.recovery);
        self.hook("apiservice-discovery-controller", move || api.has_discovery(), task)?;
        for hook in ["apiservice-openapi-controller", "apiservice-openapiv3-controller"] {
            let api = self.api.clone();
            self.hook(hook, move || api.has_openapi(), task)?;
        }
        Ok(())
    }

    fn add(&self, name: &str, probes: Probes) -> Result<(), UnknownCheck> {
        self.api.health.add(name, probes)
    }

    /// Adds what is done after the start, by a task.
    fn hook(
        &self,
        name: &str,
        done: impl Fn() -> bool + Send + Sync + 'static,
        task: &AbortHandle,
    ) -> Result<(), UnknownCheck> {
        let task = task.clone();
        let probes = Probes::of(done).while_alive(move || !task.is_finished());
        self.add(&format!("poststarthook/{name}"), probes)
    }

    /// Adds what the leader's controllers do once. Where another node leads, that node's part is
    /// not this one's to wait for: what was deleted since is written again by the next leader.
    fn leader_hook(
        &self,
        name: &str,
        done: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<(), UnknownCheck> {
        let done = self.by_leader(done);
        self.hook(name, done, &self.tasks.controllers)
    }

    fn by_leader(
        &self,
        done: impl Fn() -> bool + Send + Sync + 'static,
    ) -> impl Fn() -> bool + Send + Sync + 'static {
        let (store, serving) = (self.api.store.clone(), is_serving(&self.api));
        move || {
            let status = store.status();
            let is_led = status.leader.is_some_and(|leader| leader != status.node);
            done() || (is_led && serving())
        }
    }

    /// Whether this node has applied that an object exists.
    fn exists(
        &self,
        (group, plural): (&str, &str),
        namespace: Option<&str>,
        name: &str,
    ) -> impl Fn() -> bool + Send + Sync + 'static {
        let resource = builtin(&self.api, group, plural);
        let key = resource.map(|resource| resource.key(namespace, name));
        let store = self.api.store.clone();
        move || key.as_ref().is_some_and(|key| store.snapshot().get(key).is_some())
    }
}

fn are_synced(states: Vec<Arc<dyn Informed>>) -> impl Fn() -> bool + Send + Sync + 'static {
    move || states.iter().all(|state| state.is_synced())
}

fn is_serving(api: &Arc<Api>) -> impl Fn() -> bool + Send + Sync + 'static {
    let api = api.clone();
    move || api.lifecycle.phase() > Phase::Starting
}

/// A resource that is built in, by the neutral name of its group.
fn builtin(api: &Api, group: &str, plural: &str) -> Option<Arc<quorate_registry::Resource>> {
    let group = neutral_or_core(api.names, group);
    api.catalogue.load().find_builtin(&group, "v1", plural).cloned()
}

fn neutral_or_core(names: &Names, group: &str) -> String {
    if group == "core" { String::new() } else { names.group(group) }
}

/// What a check asks of the APIService of every group version that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Exists,
    /// It has the condition Available, true or not.
    Judged,
    Available,
}

fn api_services_have(api: &Api, need: Need) -> bool {
    let Some(services) = builtin(api, "apiregistration", "apiservices") else { return false };
    let (catalogue, snapshot) = (api.catalogue.load(), api.store.snapshot());
    // The group of APIServices has none of its own.
    let is_built_in = |(group, version): &(&str, &str)| {
        *group != services.group
            && catalogue.version(group, version).any(|resource| !resource.is_custom())
    };
    let versions = catalogue.group_versions();
    versions.into_iter().filter(is_built_in).all(|(group, version)| {
        let name =
            if group.is_empty() { format!("{version}.") } else { format!("{version}.{group}") };
        let Some(entry) = snapshot.get(&services.key(None, &name)) else { return false };
        if need == Need::Exists {
            return true;
        }
        let object = stored_codec::decode(&services, entry).ok();
        let state = object.as_ref().and_then(availability);
        state.is_some_and(|state| need == Need::Judged || state == "True")
    })
}

/// The status of an APIService's condition Available.
fn availability(object: &Value) -> Option<&str> {
    let conditions = object.at(&["status", "conditions"])?.as_list()?;
    let own = |condition: &&Value| condition.str_at(&["type"]) == Some("Available");
    conditions.iter().find(own)?.str_at(&["status"])
}
