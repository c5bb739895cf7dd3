//! The contract test's servers over one store, random writes through them, and the model of what
//! they did.

use std::sync::Arc;

use http::Method;
use quorate_env::Clock;
use quorate_meta::Time;
use quorate_store::{MemoryOptions, MemoryStore, Retention, Revision, ServingOptions, Store};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::model::{Key, Model, key};
use crate::harness::{Answer, Server, TestClock};

/// Servers, as if they were nodes that are never behind.
const SERVERS: usize = 3;
const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: [&str; 4] = ["m1", "m2", "m3", "m4"];
/// Retention of the history.
const KEPT_MS: u64 = 60_000;
/// Changes in memory; little, so that watches read the history behind it as well.
const RING_BYTES: usize = 8 * 1024;

/// Servers over one store, and the model of what clients wrote through them.
pub(super) struct World {
    store: Arc<MemoryStore>,
    clock: Arc<TestClock>,
    servers: Vec<Server>,
    pub(super) model: Model,
}

impl World {
    pub(super) async fn new() -> Self {
        let clock = Arc::new(TestClock::default());
        let retention = Retention { time_ms: KEPT_MS, ..Retention::default() };
        let serving = ServingOptions { ring_bytes: RING_BYTES, ..ServingOptions::default() };
        let store = MemoryStore::new(MemoryOptions {
            retention,
            serving,
            ..MemoryOptions::new(clock.clone())
        });
        let store = Arc::new(store);
        let servers: Vec<Server> =
            (0..SERVERS).map(|_| Server::over(store.clone(), clock.clone())).collect();
        for namespace in NAMESPACES {
            servers[0].namespace(namespace).await;
            servers[0].default_account(namespace).await;
        }
        Self { store, clock, servers, model: Model::default() }
    }

    /// The newest revision.
    pub(super) fn revision(&self) -> u64 {
        self.store.snapshot().revision().get()
    }

    /// The oldest revision that can be read exactly or watched from.
    pub(super) fn oldest(&self) -> u64 {
        self.store.status().oldest.get()
    }

    /// Any server.
    pub(super) fn server(&self, random: &mut StdRng) -> &Server {
        self.servers.choose(random).unwrap()
    }

    /// Lets time pass, so that the next write makes history go that is too old by then.
    pub(super) fn wait(&self, random: &mut StdRng) {
        self.clock.advance(random.random_range(0..KEPT_MS));
    }

    /// Writes something.
    pub(super) async fn write(&mut self, random: &mut StdRng) {
        let place = (
            NAMESPACES.choose(random).unwrap().to_string(),
            NAMES.choose(random).unwrap().to_string(),
        );
        let (collection, name) = (format!("/api/v1/namespaces/{}/pods", place.0), &place.1);
        let path = format!("{collection}/{name}");
        let labels =
            json!({ "labels": { "x": pick(random, &["1", "2"]), "y": pick(random, &["1"]) } });
        if !self.model.objects.contains_key(&place) {
            let metadata = json!({ "name": name, "labels": without_nulls(&labels["labels"]) });
            let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
            let body = json!({ "metadata": metadata, "spec": spec });
            let answer = self.send(random, Method::POST, &collection, &body).await;
            return self.committed(place, &answer, 201);
        }
        match random.random_range(0..8) {
            0 | 1 => {
                let answer = self
                    .send(random, Method::DELETE, &path, &json!({ "gracePeriodSeconds": 0 }))
                    .await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                let mut pod = answer.json();
                pod["metadata"]["resourceVersion"] = json!((self.revision() - 1).to_string());
                assert_eq!(pod, self.marked(&place, self.revision() - 1));
                self.model.commit(self.revision() - 1, place.clone(), Some(pod));
                self.model.commit(self.revision(), place, None);
            }
            2 => {
                let before = self.revision();
                let path = format!("{collection}?labelSelector=x%3D1");
                let answer = self
                    .send(random, Method::DELETE, &path, &json!({ "gracePeriodSeconds": 0 }))
                    .await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                self.deleted_since(before, &place.0);
            }
            3 | 4 => {
                let body = json!({ "status": { "phase": pick(random, &["Pending", "Running", "Succeeded"]) } });
                let answer =
                    self.send(random, Method::PATCH, &format!("{path}/status"), &body).await;
                self.committed(place, &answer, 200);
            }
            _ => {
                let answer =
                    self.send(random, Method::PATCH, &path, &json!({ "metadata": labels })).await;
                self.committed(place, &answer, 200);
            }
        }
    }

    async fn send(&self, random: &mut StdRng, method: Method, path: &str, body: &Value) -> Answer {
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        self.server(random).send(method, path, &[("content-type", kind)], body.to_string()).await
    }

    /// Notes what a write was answered with; one that changed nothing has no revision of its own.
    fn committed(&mut self, place: Key, answer: &Answer, status: u16) {
        assert_eq!(answer.status, status, "{}", answer.text());
        let pod = answer.json();
        assert_eq!(key(&pod), place);
        if self.model.objects.get(&place) != Some(&pod) {
            assert_eq!(answer.version(), self.revision().to_string());
            self.model.commit(self.revision(), place, Some(pod));
        }
    }

    /// A pod as its deletion marks it before it is removed.
    fn marked(&self, place: &Key, revision: u64) -> Value {
        let mut pod = self.model.objects[place].clone();
        let metadata = &mut pod["metadata"];
        metadata["deletionTimestamp"] = json!(Time::from_ms(self.clock.now_ms()).seconds());
        metadata["deletionGracePeriodSeconds"] = json!(0);
        metadata["generation"] = json!(metadata["generation"].as_i64().unwrap() + 1);
        metadata["resourceVersion"] = json!(revision.to_string());
        pod
    }

    /// Notes the deletions of a collection, each of which has revisions of its own that no answer
    /// tells.
    fn deleted_since(&mut self, before: u64, namespace: &str) {
        let mut watch = self.store.watch(bytes::Bytes::new(), Revision::new(before)).unwrap();
        let hit = |pod: &Value| pod["metadata"]["labels"]["x"] == "1";
        let mut expect: Vec<Key> = self
            .model
            .objects
            .iter()
            .filter(|(_, pod)| hit(pod))
            .map(|(key, _)| key.clone())
            .collect();
        expect.retain(|key| key.0 == namespace);
        let mut gone = Vec::new();
        while let Some(batch) = watch.try_next().unwrap() {
            for event in batch.events() {
                let key = String::from_utf8_lossy(&event.key).into_owned();
                let place =
                    expect.iter().find(|place| key.ends_with(&format!("/{}/{}", place.0, place.1)));
                let place = place.unwrap_or_else(|| panic!("{key} was not to be deleted")).clone();
                let revision = batch.revision().get();
                let after = event.current.is_some().then(|| self.marked(&place, revision));
                if after.is_none() {
                    gone.push(place.clone());
                }
                self.model.commit(revision, place, after);
            }
        }
        gone.sort();
        assert_eq!(gone, expect);
    }
}

/// One of these, or null.
fn pick(random: &mut StdRng, values: &[&str]) -> Value {
    values.get(random.random_range(0..=values.len())).map_or(Value::Null, |value| json!(value))
}

fn without_nulls(labels: &Value) -> Value {
    let labels = labels.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
    labels.map(|(name, value)| (name.clone(), value.clone())).collect()
}
