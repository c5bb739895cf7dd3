//! An operator made of kube-rs' `Controller`, for the tests of the binary.
//!
//! Usage: `kube-operator KUBECONFIG HOST:PORT NAMESPACE`. It applies its own definition, that of
//! Looms. For each Loom it keeps a ConfigMap of the same name that says what the Loom wants, and
//! tells in the Loom's status of which generation that is. A finalizer holds a Loom until its
//! ConfigMap is gone. It ends when it is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt, KubeSchema, Resource, ResourceExt};
use kube_rs_clients::{Failure, connect};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The manager of all that it applies.
const MANAGER: &str = "kube-operator";
const FINALIZER: &str = "craft.example.com/kube-operator";
/// How long it waits after an error before it tries again.
const BACKOFF: Duration = Duration::from_millis(100);

/// What a Loom wants.
#[derive(CustomResource, KubeSchema, Deserialize, Serialize, Clone, Debug)]
#[kube(group = "craft.example.com", version = "v1", kind = "Loom", namespaced)]
#[kube(status = "LoomStatus", shortname = "lm", category = "crafts")]
#[kube(scale(spec_replicas_path = ".spec.threads", status_replicas_path = ".status.threads"))]
#[x_kube(validation = Rule::new("self.threads <= 100 || self.pattern != 'plain'").message("a plain loom has 100 threads at most"))]
pub struct LoomSpec {
    /// Number of threads.
    #[schemars(range(min = 0))]
    threads: i32,
    /// What is woven.
    #[serde(default = "plain")]
    pattern: String,
}

/// What was made of a Loom.
#[derive(KubeSchema, Deserialize, Serialize, Clone, Debug, Default)]
pub struct LoomStatus {
    /// The generation that is carried out.
    generation: Option<i64>,
    /// Threads of that generation.
    threads: i32,
}

fn plain() -> String {
    "plain".to_owned()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, address, namespace] = &arguments[..] else {
        return Err("usage: kube-operator KUBECONFIG HOST:PORT NAMESPACE".into());
    };
    let client = connect(kubeconfig, address).await?;
    define(&client).await?;
    let looms: Api<Loom> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let owned = watcher::Config::default().labels("made-by=kube-operator");
    let again = |_: Arc<Loom>, error: &finalizer::Error<kube::Error>, _: Arc<Client>| {
        eprintln!("{error}");
        Action::requeue(BACKOFF)
    };
    let reconciled = Controller::new(looms, watcher::Config::default())
        .owns(maps, owned)
        .run(reconcile, again, Arc::new(client));
    // Errors were told of already.
    reconciled.for_each(|_| async {}).await;
    Ok(())
}

/// Applies the definition and waits until it is established.
async fn define(client: &Client) -> Result<(), Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = Loom::crd_name();
    definitions.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(Loom::crd())).await?;
    await_condition(definitions, name, conditions::is_crd_established()).await?;
    Ok(())
}

async fn reconcile(loom: Arc<Loom>, client: Arc<Client>) -> Result<Action, finalizer::Error<kube::Error>> {
    let namespace = loom.namespace().unwrap_or_default();
    let looms: Api<Loom> = Api::namespaced((*client).clone(), &namespace);
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace);
    finalizer(&looms, FINALIZER, loom, async |event| match event {
        Event::Apply(loom) => weave(&looms, &maps, &loom).await,
        Event::Cleanup(loom) => unravel(&maps, &loom).await,
    })
    .await
}

/// Applies the ConfigMap and the status of a Loom.
async fn weave(looms: &Api<Loom>, maps: &Api<ConfigMap>, loom: &Loom) -> Result<Action, kube::Error> {
    let name = loom.name_any();
    let data = [("threads", loom.spec.threads.to_string()), ("pattern", loom.spec.pattern.clone())];
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(BTreeMap::from([("made-by".to_owned(), MANAGER.to_owned())])),
            owner_references: loom.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(data.map(|(key, value)| (key.to_owned(), value)).into()),
        ..ConfigMap::default()
    };
    let applied = PatchParams::apply(MANAGER).force();
    maps.patch(&name, &applied, &Patch::Apply(&map)).await?;
    let status = json!({
        "apiVersion": Loom::api_version(&()),
        "kind": Loom::kind(&()),
        "status": LoomStatus { generation: loom.meta().generation, threads: loom.spec.threads },
    });
    looms.patch_status(&name, &applied, &Patch::Apply(&status)).await?;
    Ok(Action::await_change())
}

/// Deletes the ConfigMap of a Loom that is being deleted.
async fn unravel(maps: &Api<ConfigMap>, loom: &Loom) -> Result<Action, kube::Error> {
    match maps.delete(&loom.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        deleted => drop(deleted?),
    }
    Ok(Action::await_change())
}
