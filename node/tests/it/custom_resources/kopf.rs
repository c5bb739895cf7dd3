//! An operator made of kopf, whose cluster loses its leader again and again.

use std::path::Path;
use std::process::Stdio;

use http::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::{FOLDER, WORKSHOPS, define};
use crate::support::{Balancer, Client, Cluster, Kubectl, eventually, skip};

/// Where `.ci/tools` puts Python with kopf, below the workspace.
const PLACE: &str = "target/tools/python/bin/kopf";
/// Where the operator's ConfigMaps are.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Workshops that are there from the beginning.
const WORKSHOPS_AT_FIRST: usize = 4;
/// How often the leader is killed.
const KILLS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_brings_every_object_to_what_is_wanted_through_changes_of_leader() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
    if !program.exists() {
        return skip(&format!("no {PLACE}; run .ci/tools"));
    }
    let mut cluster = Cluster::start(3, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    define(&kubectl);
    let balancer = Balancer::start(&cluster, &[1, 2, 3]).await;
    let _operator = start(&program, &cluster, balancer.address());
    for number in 0..WORKSHOPS_AT_FIRST {
        send(&cluster, Method::POST, WORKSHOPS, &workshop(number)).await;
    }
    settled(&cluster, WORKSHOPS_AT_FIRST).await;
    for kill in 1..=KILLS {
        let leader = cluster.leader(1).await;
        cluster.kill(leader);
        let survivor = leader % 3 + 1;
        eventually("another leader", async || {
            cluster.status(&cluster.node(survivor))?["leader"].as_u64().filter(|new| *new != leader)
        })
        .await;
        let folder = cluster.node(leader);
        cluster.serve(&folder);
        cluster.ready(leader).await;
        for number in kill..WORKSHOPS_AT_FIRST + kill - 1 {
            let path = format!("{WORKSHOPS}/shop-{number}");
            let benches = json!({ "spec": { "benches": 10 * kill + number } });
            send(&cluster, Method::PATCH, &path, &benches).await;
        }
        let added = workshop(WORKSHOPS_AT_FIRST + kill - 1);
        send(&cluster, Method::POST, WORKSHOPS, &added).await;
        let first = format!("{WORKSHOPS}/shop-{}", kill - 1);
        send(&cluster, Method::DELETE, &first, &json!({})).await;
        settled(&cluster, WORKSHOPS_AT_FIRST).await;
    }
    send(&cluster, Method::DELETE, WORKSHOPS, &json!({})).await;
    settled(&cluster, 0).await;
}

/// Starts the operator; it ends with the test, and its log lies beside the nodes'.
fn start(program: &Path, cluster: &Cluster, address: &str) -> Child {
    let folder = cluster.root().join("operator");
    std::fs::create_dir(&folder).unwrap();
    let kubeconfig = std::fs::read_to_string(cluster.root().join("admin.kubeconfig")).unwrap();
    let config = folder.join("kubeconfig");
    std::fs::write(&config, kubeconfig.replace(&cluster.address(1), address)).unwrap();
    let log = std::fs::File::create(folder.join("node.log")).unwrap();
    Command::new(program)
        .args(["run", "--standalone", "--namespace", "default"])
        .arg(format!("{FOLDER}/operator_of_workshops.py"))
        .env("KUBECONFIG", config)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn workshop(number: usize) -> Value {
    json!({
        "apiVersion": "craft.example.com/v1",
        "kind": "Workshop",
        "metadata": { "name": format!("shop-{number}") },
        "spec": { "trade": "pottery", "benches": number },
    })
}

/// Sends a write until it is acknowledged, which it must be.
async fn send(cluster: &Cluster, method: Method, path: &str, body: &Value) {
    let mut client = cluster.client(1);
    eventually(&format!("{method} {path}"), async || {
        let answer = client.send(method.clone(), path, Some(body)).await.ok()?;
        [200, 201].contains(&answer.status).then_some(())
    })
    .await;
}

/// Waits until there are so many Workshops, each served by the operator as it is now, and no other
/// ConfigMap of the operator's.
async fn settled(cluster: &Cluster, count: usize) {
    let mut client = cluster.client(1);
    eventually(&format!("{count} workshops are as wanted"), async || {
        let workshops = items(&mut client, WORKSHOPS).await?;
        let maps = items(&mut client, MAPS).await?;
        let made: Vec<&Value> =
            maps.iter().filter(|map| map["data"]["trade"].is_string()).collect();
        let is_served = |workshop: &Value| {
            let spec = &workshop["spec"];
            workshop["status"]["generation"] == workshop["metadata"]["generation"]
                && workshop["metadata"]["deletionTimestamp"].is_null()
                && made.iter().any(|map| {
                    map["metadata"]["name"] == workshop["metadata"]["name"]
                        && map["data"]["benches"].as_str() == Some(&*spec["benches"].to_string())
                })
        };
        (workshops.len() == count && made.len() == count && workshops.iter().all(is_served))
            .then_some(())
    })
    .await;
}

async fn items(client: &mut Client, path: &str) -> Option<Vec<Value>> {
    let answer = client.send(Method::GET, path, None).await.ok()?;
    answer.body["items"].as_array().cloned()
}
