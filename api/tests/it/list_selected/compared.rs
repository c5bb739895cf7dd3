//! Random lists and watches with selectors, at a node that looks them up and at one that scans.
//!
//! Both serve from the store of one follower: what differs is only that the one keeps indexes. The
//! follower lags, catches up and installs snapshots; the node with indexes is started again; objects
//! change between the pages of a list, and their past is purged.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use quorate_api::SelectorIndexOptions;
use quorate_store::{MemoryOptions, MemoryStore};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::{ALWAYS, NEVER, count};
use crate::custom_resources::MERGE;
use crate::follower::Follower;
use crate::harness::{Server, TestClock};

const STEPS: usize = 1200;
/// Names of objects in each namespace.
const NAMES: usize = 40;
const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];
const KINDS: [&str; 2] = ["configmaps", "events"];
const LABELS: [&str; 14] = [
    "x%3D1",
    "x%3D%3D2",
    "x%3D",
    "x+in+(1,3)",
    "x+in+(,2,3,4)",
    "x+notin+(1)",
    "x!%3D2",
    "x",
    "!x",
    "y%3D1",
    "y+in+(1,2)",
    "y!%3D1",
    "!y",
    "none%3D1",
];
const FIELDS: [&str; 9] = [
    "reason%3D1",
    "reason%3D2",
    "reason!%3D1",
    "reason%3D",
    "type%3DNormal",
    "involvedObject.name%3Dq",
    "metadata.name%3Dm7",
    "metadata.name!%3Dm7",
    "metadata.namespace%3Da",
];
/// Small, so that indexes are evicted and refused.
const OPTIONS: SelectorIndexOptions = SelectorIndexOptions { max_bytes: 64 << 10, ..ALWAYS };

/// The nodes.
struct World {
    random: StdRng,
    clock: Arc<TestClock>,
    follower: Arc<Follower>,
    leader: Server,
    indexed: Server,
    scanning: Server,
    /// Revisions that the follower has had.
    versions: Vec<String>,
    /// Lists that were looked up at nodes that have ended.
    used: u64,
    /// Answers that had objects, that were of an older state, and that were refused.
    seen: [usize; 3],
}

impl World {
    async fn new(seed: u64) -> Self {
        let clock = Arc::<TestClock>::default();
        let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
        let follower = Arc::new(Follower::new(store.clone()));
        let leader = Server::over(store, clock.clone());
        for namespace in NAMESPACES {
            leader.namespace(namespace).await;
        }
        follower.catch_up();
        let indexed = Server::with_indexes(follower.clone(), clock.clone(), OPTIONS);
        let scanning = Server::with_indexes(follower.clone(), clock.clone(), NEVER);
        let (random, versions) = (StdRng::seed_from_u64(seed), vec!["1".to_owned()]);
        let (used, seen) = (0, [0; 3]);
        Self { random, clock, follower, leader, indexed, scanning, versions, used, seen }
    }

    fn any<'v>(&mut self, values: &[&'v str]) -> &'v str {
        values.choose(&mut self.random).expect("there are some")
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// Creates, changes or deletes an object.
    async fn write(&mut self) {
        let (namespace, kind) = (self.any(&NAMESPACES), self.any(&KINDS));
        let name = format!("m{}", self.random.random_range(0..NAMES));
        let path = format!("/api/v1/namespaces/{namespace}/{kind}");
        let mut labels = json!({});
        for (label, values) in [("x", ["", "1", "2", "3", "4"]), ("y", ["1", "1", "1", "2", "3"])] {
            if self.chance(80) {
                labels[label] = self.any(&values).into();
            }
        }
        let mut body = json!({"metadata": {"name": name, "labels": labels}});
        if kind == "events" {
            body["involvedObject"] = json!({"namespace": namespace, "name": self.any(&["p", "q"])});
            body["reason"] = self.any(&["", "1", "2", "3"]).into();
            body["type"] = "Normal".into();
        }
        let own = format!("{path}/{name}");
        if self.chance(20) {
            self.leader.send(Method::DELETE, &own, &[], "").await;
            return;
        }
        let made = self.leader.send(Method::POST, &path, &[], body.to_string()).await;
        if made.status == 409 {
            // A merge leaves a label that is not mentioned.
            for label in ["x", "y"] {
                if body["metadata"]["labels"][label].is_null() {
                    body["metadata"]["labels"][label] = Value::Null;
                }
            }
            let changed = self.leader.send(Method::PATCH, &own, &MERGE, body.to_string()).await;
            assert_eq!(changed.status, 200, "{}", changed.text());
        } else {
            assert_eq!(made.status, 201, "{}", made.text());
        }
    }

    async fn purge(&mut self) {
        let mut body = json!({"resource": self.any(&KINDS), "namespace": self.any(&NAMESPACES), "reason": "test"});
        if self.chance(70) {
            body["name"] = format!("m{}", self.random.random_range(0..NAMES)).into();
        }
        let done = self.leader.send(Method::POST, "/past/purges", &[], body.to_string()).await;
        assert_eq!(done.status, 200, "{}", done.text());
    }

    /// What else happens.
    async fn happen(&mut self) {
        match self.random.random_range(0..100) {
            0..70 => self.follower.catch_up(),
            70..73 => self.follower.install(true),
            73..76 => self.follower.install(false),
            76 => self.purge().await,
            77 => {
                self.used += count(&self.indexed, "used").await;
                self.indexed =
                    Server::with_indexes(self.follower.clone(), self.clock.clone(), OPTIONS);
            }
            // What was refused may be asked for again.
            78 => tokio::time::advance(Duration::from_secs(301)).await,
            _ => {}
        }
    }

    fn collection(&mut self) -> (String, bool) {
        let kind = self.any(&KINDS);
        let path = match self.any(&["", "a", "a-b", "b"]) {
            "" => format!("/api/v1/{kind}"),
            namespace => format!("/api/v1/namespaces/{namespace}/{kind}"),
        };
        (path, kind == "events")
    }

    fn selectors(&mut self, has_fields: bool) -> String {
        let labels: Vec<_> =
            (0..self.random.random_range(0..=3)).map(|_| self.any(&LABELS)).collect();
        let of_all = &FIELDS[6..];
        let fields = if has_fields { &FIELDS[..] } else { of_all };
        let count = usize::from(self.chance(50)) + usize::from(self.chance(20));
        let fields: Vec<_> = (0..count).map(|_| self.any(fields)).collect();
        format!("labelSelector={}&fieldSelector={}", labels.join(","), fields.join(","))
    }

    /// The same question to both; the token of the next page.
    async fn compare(&mut self, query: &str) -> Option<String> {
        let (looked_up, scanned) = (self.indexed.get(query).await, self.scanning.get(query).await);
        let body = scanned.json();
        assert_eq!((looked_up.status, looked_up.json()), (scanned.status, body.clone()), "{query}");
        if scanned.status != 200 {
            assert_eq!(scanned.status, 410, "{query}: {}", scanned.text());
            self.seen[2] += 1;
        }
        let has_items = body["items"].as_array().is_some_and(|items| !items.is_empty());
        self.seen[0] += usize::from(has_items);
        self.seen[1] += usize::from(has_items && query.contains("Exact"));
        let token = body["metadata"]["continue"].as_str().unwrap_or_default();
        Some(token.to_owned()).filter(|token| !token.is_empty())
    }

    async fn list(&mut self) {
        let (path, has_fields) = self.collection();
        let limit = self.any(&["0", "1", "3", "20"]);
        let base = format!("{path}?{}&limit={limit}", self.selectors(has_fields));
        let at = match self.random.random_range(0..4) {
            0 => "&resourceVersion=0".to_owned(),
            1 => {
                let recent = &self.versions[self.versions.len().saturating_sub(3)..];
                let at = recent.choose(&mut self.random).expect("there is one");
                format!("&resourceVersionMatch=Exact&resourceVersion={at}")
            }
            _ => String::new(),
        };
        let mut next = self.compare(&format!("{base}{at}")).await;
        while let Some(token) = next {
            if self.chance(30) {
                self.write().await;
                self.happen().await;
            }
            next = self.compare(&format!("{base}&continue={token}")).await;
        }
    }

    async fn watch(&mut self) {
        let (path, has_fields) = self.collection();
        let query = format!("{path}?watch=1&timeoutSeconds=1&{}", self.selectors(has_fields));
        let looked_up = self.indexed.watch(&query).await.all().await;
        let scanned = self.scanning.watch(&query).await.all().await;
        assert_eq!(looked_up, scanned, "{query}");
    }

    async fn run(&mut self) {
        for step in 0..STEPS {
            self.write().await;
            self.happen().await;
            match step % 10 {
                0 => {
                    let version = self.scanning.get("/api/v1/configmaps?limit=1").await.version();
                    self.versions.push(version);
                }
                1 => self.watch().await,
                2..6 => self.list().await,
                _ => {}
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_index_gives_what_a_scan_gives() {
    let (mut used, mut seen) = (0, [0; 3]);
    for seed in 1..=3 {
        let mut world = World::new(seed).await;
        world.run().await;
        used += world.used + count(&world.indexed, "used").await;
        assert_eq!(count(&world.scanning, "used").await, 0);
        seen.iter_mut().zip(world.seen).for_each(|(sum, count)| *sum += count);
    }
    let [with_objects, older, refused] = seen;
    let told = format!("{used} used, {seen:?}");
    assert!(used > 300 && with_objects > 500 && older > 50 && refused > 10, "{told}");
}
