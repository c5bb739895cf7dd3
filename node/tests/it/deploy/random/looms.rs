//! A controller made of kube-rs, and what it has to do: its objects come, change and go all the
//! time, and at the end each has exactly the ConfigMap that the controller makes of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::super::NODES;
use crate::support::{Client, Compose, PATIENCE, eventually};

/// Where `.ci/tools` puts the controller, below the workspace.
pub(super) const PROGRAM: &str = "target/tools/kube-operator";
/// The objects of the namespace `default`.
const LOOMS: &str = "/apis/craft.example.com/v1/namespaces/default/looms";
/// What the controller makes.
const MADE: &str = "/api/v1/namespaces/default/configmaps?labelSelector=made-by%3Dkube-operator";
/// Objects at a time, at most.
const MOST: usize = 12;
/// Between two changes.
const PAUSE: Duration = Duration::from_millis(200);

/// Starts the controller at an address; it ends with the test.
pub(super) fn start_controller(compose: &Compose, address: &str) -> Child {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PROGRAM);
    let log = File::create(compose.credentials().join("controller.log")).unwrap();
    let mut command = Command::new(program);
    command.arg(compose.credentials().join("admin.kubeconfig")).args([address, "default"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
    command.spawn().unwrap()
}

/// What is wanted of each object, by name.
type Wanted = BTreeMap<String, u64>;

/// Changes the objects until it is told to end.
pub(super) struct Weaver {
    stop: Arc<AtomicBool>,
    task: JoinHandle<(Wanted, u64)>,
}

impl Weaver {
    /// Begins once the controller's definition is served.
    pub(super) async fn start(compose: &Compose, seed: u64) -> Self {
        let mut client = compose.client(1);
        eventually("Looms are served", async || {
            let answer = client.send(Method::GET, LOOMS, None).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
        let stop = Arc::new(AtomicBool::new(false));
        let clients = NODES.map(|node| compose.client(node)).into();
        let task = tokio::spawn(weave(clients, StdRng::seed_from_u64(seed), stop.clone()));
        Self { stop, task }
    }

    /// Ends; every node then comes to have the objects as they were left, each with what the
    /// controller makes of it, and nothing else that it has made. Gives how many changes there were.
    pub(super) async fn finish(self, compose: &Compose) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let (wanted, changes) = self.task.await.unwrap();
        assert!(!wanted.is_empty());
        for node in NODES {
            let mut client = compose.client(node);
            eventually(&format!("node {node} has what the controller makes"), async || {
                let looms = items(&mut client, LOOMS).await?;
                let made = items(&mut client, MADE).await?;
                (threads_of(&looms, "spec") == wanted
                    && threads_of(&made, "data") == wanted
                    && looms.iter().all(is_settled))
                .then_some(())
            })
            .await;
        }
        changes
    }
}

async fn weave(
    mut clients: Vec<Client>,
    mut random: StdRng,
    stop: Arc<AtomicBool>,
) -> (Wanted, u64) {
    let (mut wanted, mut changes) = (Wanted::new(), 0);
    while !stop.load(Ordering::Relaxed) || wanted.is_empty() {
        changes += 1;
        let threads = random.random_range(0..100);
        let known = wanted.keys().nth(random.random_range(0..MOST)).cloned();
        match known {
            None => {
                let name = format!("loom-{changes}");
                let loom = json!({
                    "apiVersion": "craft.example.com/v1", "kind": "Loom",
                    "metadata": { "name": name }, "spec": { "threads": threads },
                });
                // An attempt whose answer was lost may have made it.
                until(&mut clients, (Method::POST, LOOMS, &loom), &[201, 409]).await;
                wanted.insert(name, threads);
            }
            Some(name) if wanted.len() > 2 && random.random_bool(0.3) => {
                let path = format!("{LOOMS}/{name}");
                until(&mut clients, (Method::DELETE, &path, &json!({})), &[200, 404]).await;
                wanted.remove(&name);
            }
            Some(name) => {
                let (path, change) =
                    (format!("{LOOMS}/{name}"), json!({ "spec": { "threads": threads } }));
                until(&mut clients, (Method::PATCH, &path, &change), &[200]).await;
                wanted.insert(name, threads);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    (wanted, changes)
}

/// Sends a write, to one node after the other, until it is acknowledged.
async fn until(clients: &mut [Client], (method, path, body): (Method, &str, &Value), good: &[u16]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = clients[0].send(method.clone(), path, Some(body)).await;
        if answer.as_ref().is_ok_and(|answer| good.contains(&answer.status)) {
            return;
        }
        assert!(Instant::now() < deadline, "{method} {path}: {answer:?}");
        clients.rotate_left(1);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn items(client: &mut Client, path: &str) -> Option<Vec<Value>> {
    let answer = client.send(Method::GET, path, None).await.ok()?;
    answer.body["items"].as_array().cloned()
}

/// The threads of each object, in `spec` as a number or in `data` as a text.
fn threads_of(objects: &[Value], field: &str) -> Wanted {
    let one = |object: &Value| {
        let threads = &object[field]["threads"];
        let threads =
            threads.as_u64().or_else(|| threads.as_str()?.parse().ok()).unwrap_or(u64::MAX);
        (object["metadata"]["name"].as_str().unwrap_or_default().to_owned(), threads)
    };
    objects.iter().map(one).collect()
}

/// Whether the controller has carried out what is wanted of an object now.
fn is_settled(loom: &Value) -> bool {
    loom["status"]["generation"] == loom["metadata"]["generation"]
        && loom["metadata"]["deletionTimestamp"].is_null()
}
