//! Garbage collection: which dependents are deleted with their owners, which stay as orphans, which
//! owners wait (foreground deletion).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use http::Method;
use quorate_controllers::{Controllers, ControllersHandle, ControllersOptions};
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// Steps of 20 ms of paused time that the collector may take.
const PATIENCE_STEPS: usize = 2000;

/// ConfigMaps in the namespace `a`, and a collector that runs until this is dropped.
struct Field {
    server: Server,
    uids: BTreeMap<String, String>,
    _controllers: ControllersHandle,
}

impl Field {
    async fn new() -> Self {
        let server = Server::with_namespace().await;
        let event_lifetime = Duration::from_secs(3600);
        let options = ControllersOptions {
            cluster: server.api.cluster(),
            root_ca: String::new(),
            event_lifetime,
            signing: None,
            api_port: 6443,
            api_servers: Arc::new(Vec::new()),
        };
        let (controllers, handle) = Controllers::new(options);
        tokio::spawn(controllers.run());
        Self { server, uids: BTreeMap::new(), _controllers: handle }
    }

    /// Makes a ConfigMap whose owners are these; `!` before a name blocks the owner's deletion, an
    /// unknown name is an owner that never was.
    async fn map(&mut self, name: &str, owners: &[&str]) {
        let references: Vec<Value> = owners.iter().map(|owner| self.reference(owner)).collect();
        let body = json!({"metadata": {"name": name, "ownerReferences": references}});
        let answer = self.server.send(Method::POST, MAPS, &[], body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        self.uids
            .insert(name.to_owned(), answer.json()["metadata"]["uid"].as_str().unwrap().to_owned());
    }

    fn reference(&self, owner: &str) -> Value {
        let name = owner.trim_start_matches('!');
        let uid = self.uids.get(name).map_or("0", String::as_str);
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": owner != name})
    }

    async fn delete(&self, name: &str, policy: &str) {
        let body = json!({"propagationPolicy": policy}).to_string();
        let answer = self.server.send(Method::DELETE, &format!("{MAPS}/{name}"), &[], body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    async fn names(&self) -> BTreeSet<String> {
        self.server.get(MAPS).await.names().into_iter().collect()
    }

    /// Waits until exactly these are left.
    async fn left(&self, expect: &[&str]) {
        let expect: BTreeSet<String> = expect.iter().map(ToString::to_string).collect();
        let mut names = BTreeSet::new();
        for _ in 0..PATIENCE_STEPS {
            names = self.names().await;
            if names == expect {
                return;
            }
            pause().await;
        }
        panic!("{names:?} are left, not {expect:?}");
    }

    /// Waits until a ConfigMap looks like this.
    async fn until(&self, name: &str, accept: impl Fn(&Value) -> bool) {
        for _ in 0..PATIENCE_STEPS {
            let answer = self.server.get(&format!("{MAPS}/{name}")).await;
            if answer.status == 200 && accept(&answer.json()["metadata"]) {
                return;
            }
            pause().await;
        }
        panic!("{name} stays {}", self.server.get(&format!("{MAPS}/{name}")).await.text());
    }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_last_owner() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    field.map("p", &[]).await;
    field.map("one", &["o"]).await;
    field.map("both", &["o", "p"]).await;
    field.map("chain", &["one"]).await;
    field.delete("o", "Background").await;
    field.left(&["p", "both"]).await;
    field
        .until("both", |metadata| metadata["ownerReferences"].as_array().unwrap().len() == 1)
        .await;
    field.delete("p", "Background").await;
    field.left(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_never_was_keeps_nothing() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    field.map("lost", &["nobody"]).await;
    field.map("kept", &["nobody", "o"]).await;
    field.left(&["o", "kept"]).await;
    field
        .until("kept", |metadata| metadata["ownerReferences"].as_array().unwrap().len() == 1)
        .await;
    // Another object of the owner's name is another object.
    field.map("later", &["o"]).await;
    field.server.delete("o").await;
    field.map("o", &[]).await;
    field.left(&["o"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_looked_up_keeps_its_dependents() {
    let field = Field::new().await;
    let foreign = json!({"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "1"});
    let body = json!({"metadata": {"name": "m", "ownerReferences": [foreign]}}).to_string();
    assert_eq!(field.server.send(Method::POST, MAPS, &[], body).await.status, 201);
    let namespaced = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "uid": "1"});
    let body = json!({"metadata": {"name": "n", "ownerReferences": [namespaced]}}).to_string();
    assert_eq!(field.server.send(Method::POST, "/api/v1/namespaces", &[], body).await.status, 201);
    for _ in 0..100 {
        pause().await;
    }
    assert_eq!(field.names().await.len(), 1);
    assert_eq!(field.server.get("/api/v1/namespaces/n").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_a_wrong_namespace_is_told_of() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    let server = &field.server;
    let post = async |path: &str, body: Value| {
        let answer = server.send(Method::POST, path, &[], body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let owners = json!([field.reference("o")]);
    post("/api/v1/namespaces", json!({"metadata": {"name": "b"}})).await;
    let metadata = json!({"name": "of-namespace", "ownerReferences": owners});
    let uid = post("/api/v1/namespaces", json!({"metadata": metadata})).await;
    let metadata = json!({"name": "m", "ownerReferences": owners});
    post("/api/v1/namespaces/b/configmaps", json!({"metadata": metadata})).await;
    let events = async |namespace: &str| {
        let path = format!("/api/v1/namespaces/{namespace}/events");
        for _ in 0..PATIENCE_STEPS {
            let found = server.get(&path).await.json()["items"].as_array().unwrap().clone();
            if !found.is_empty() {
                return found;
            }
            pause().await;
        }
        panic!("there is no event in {namespace}");
    };
    let owner = field.uids["o"].as_str();
    let told = |namespace: &str| {
        format!(
            "ownerRef [v1/ConfigMap, namespace: {namespace}, name: o, uid: {owner}] does not exist \
             in namespace \"{namespace}\""
        )
    };
    // The dependent goes, as that of an owner that never was.
    let of_map = events("b").await;
    assert_eq!((of_map.len(), &of_map[0]["message"]), (1, &json!(told("b"))));
    assert_eq!(of_map[0]["reason"], "OwnerRefInvalidNamespace");
    assert_eq!((&of_map[0]["type"], &of_map[0]["count"]), (&json!("Warning"), &json!(1)));
    assert_eq!(of_map[0]["source"], json!({"component": "garbage-collector-controller"}));
    for _ in 0..PATIENCE_STEPS {
        if server.get("/api/v1/namespaces/b/configmaps").await.names().is_empty() {
            break;
        }
        pause().await;
    }
    assert!(server.get("/api/v1/namespaces/b/configmaps").await.names().is_empty());
    // A cluster-scoped one stays.
    let of_namespace = events("default").await;
    assert_eq!((of_namespace.len(), &of_namespace[0]["message"]), (1, &json!(told(""))));
    let involved =
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "of-namespace", "uid": uid});
    assert_eq!(of_namespace[0]["involvedObject"], involved);
    assert_eq!(server.get("/api/v1/namespaces/of-namespace").await.status, 200);
    // A reference that leads to its owner is no reason for an event, nor is one to nothing.
    field.map("good", &["o"]).await;
    field.map("lost", &["nobody"]).await;
    field.left(&["o", "good"]).await;
    assert!(field.server.get("/api/v1/namespaces/a/events").await.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_their_owner() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    for name in ["x", "y"] {
        field.map(name, &["!o"]).await;
    }
    field.delete("o", "Orphan").await;
    field.left(&["x", "y"]).await;
    field.until("x", |metadata| metadata["ownerReferences"].is_null()).await;
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_waits_for_those_that_block_it() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    field.map("blocks", &["!o"]).await;
    field.map("not", &["o"]).await;
    field.map("deep", &["!blocks"]).await;
    field.server.patch("deep", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    field.delete("o", "Foreground").await;
    field.until("deep", |metadata| metadata["deletionTimestamp"].is_string()).await;
    let held = json!(["foregroundDeletion"]);
    for name in ["o", "blocks"] {
        field.until(name, |metadata| metadata["finalizers"] == held).await;
    }
    field.server.patch("deep", json!({"metadata": {"finalizers": null}})).await;
    field.left(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn owners_that_own_each_other_go_together() {
    let mut field = Field::new().await;
    field.map("x", &[]).await;
    field.map("y", &["!x"]).await;
    let reference = field.reference("!y");
    field.server.patch("x", json!({"metadata": {"ownerReferences": [reference]}})).await;
    field.delete("x", "Foreground").await;
    field.left(&[]).await;
}

/// Owners in a cycle, all deleted at the same time: each waits for the next when the collector
/// looks.
#[tokio::test(start_paused = true)]
async fn owners_that_wait_for_each_other_go_together() {
    for members in [1, 2, 3, 20] {
        let mut field = Field::new().await;
        let names: Vec<String> = (0..members).map(|number| format!("m{number}")).collect();
        for (number, name) in names.iter().enumerate() {
            let owner = number.checked_sub(1).map(|owner| format!("!m{owner}"));
            field.map(name, &owner.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
        field.map("dependent", &["!m0"]).await;
        let last = field.reference(&format!("!m{}", members - 1));
        field.server.patch("m0", json!({"metadata": {"ownerReferences": [last]}})).await;
        join_all(names.iter().map(|name| field.delete(name, "Foreground"))).await;
        field.left(&[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_deletion_changes_the_policy() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    field.map("d", &["!o"]).await;
    field.server.patch("d", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    field.delete("o", "Foreground").await;
    field.until("d", |metadata| metadata["deletionTimestamp"].is_string()).await;
    field.delete("o", "Background").await;
    field.left(&["d"]).await;
}

#[tokio::test(start_paused = true)]
async fn many_dependents_go_too() {
    let mut field = Field::new().await;
    field.map("o", &[]).await;
    for number in 0..500 {
        field.map(&format!("d{number}"), &["!o"]).await;
    }
    field.delete("o", "Foreground").await;
    field.left(&[]).await;
}

/// Random owners and deletions in a random order: in the end an object is there exactly if it was
/// not deleted and either has no owners or one that is there.
#[tokio::test(start_paused = true)]
async fn in_the_end_nothing_is_left_that_nobody_owns() {
    for seed in 1..=10_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |limit: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let mut field = Field::new().await;
        let mut owners: Vec<Vec<usize>> = Vec::new();
        for number in 0..30 {
            let count = if number == 0 { 0 } else { below(3) };
            let chosen: BTreeSet<usize> = (0..count).map(|_| below(number)).collect();
            let names: Vec<String> = chosen
                .iter()
                .map(|owner| if below(2) == 0 { format!("m{owner}") } else { format!("!m{owner}") })
                .collect();
            field
                .map(&format!("m{number}"), &names.iter().map(String::as_str).collect::<Vec<_>>())
                .await;
            owners.push(chosen.into_iter().collect());
        }
        let deleted: BTreeSet<usize> = (0..6).map(|_| below(30)).collect();
        for number in &deleted {
            let policy = ["Background", "Foreground"][below(2)];
            let path = format!("{MAPS}/m{number}");
            let body = json!({"propagationPolicy": policy}).to_string();
            let status = field.server.send(Method::DELETE, &path, &[], body).await.status;
            assert!(status == 200 || status == 404, "{status}");
        }
        let mut lives: Vec<bool> = Vec::new();
        for (number, owners) in owners.iter().enumerate() {
            let owned = owners.is_empty() || owners.iter().any(|owner| lives[*owner]);
            lives.push(owned && !deleted.contains(&number));
        }
        let expect: Vec<String> =
            (0..30).filter(|number| lives[*number]).map(|number| format!("m{number}")).collect();
        field.left(&expect.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
}
