//! Writers that create, change, relabel and delete a few objects each, whatever happens to the
//! nodes, and keep what was acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::load::collection;
use crate::support::{Answer, Client, Cluster};

/// Writers at a time.
const WRITERS: u64 = 4;
/// Objects of each.
const OBJECTS: usize = 8;
/// Between two writes of one writer: informers in a debug build on a busy machine should keep up.
const PAUSE: Duration = Duration::from_millis(5);

/// What the filtered informers select.
pub(super) const SELECTOR: &str = "tier=front";

/// The writers of one test.
pub(super) struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Written>>,
}

/// What was acknowledged.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Revision and name of each creation and change.
    pub(super) changed: Vec<(u64, String)>,
    /// The object of each deletion.
    pub(super) deleted: Vec<String>,
}

impl Writers {
    pub(super) fn start(cluster: &Cluster, namespace: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = (0..WRITERS).map(|number| {
            let mut clients: Vec<Client> = (1..=3).map(|node| cluster.client(node)).collect();
            clients.rotate_left(number as usize % 3);
            let writer = Writer {
                clients,
                collection: collection(namespace),
                random: StdRng::seed_from_u64(number),
                written: Written::default(),
            };
            tokio::spawn(writer.run(number, stop.clone()))
        });
        Self { tasks: tasks.collect(), stop }
    }

    /// Ends them and puts together what they were told.
    pub(super) async fn finish(self) -> Written {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Written::default();
        for task in self.tasks {
            let part = task.await.unwrap();
            all.changed.extend(part.changed);
            all.deleted.extend(part.deleted);
        }
        all
    }
}

struct Writer {
    clients: Vec<Client>,
    collection: String,
    random: StdRng,
    written: Written,
}

impl Writer {
    async fn run(mut self, number: u64, stop: Arc<AtomicBool>) -> Written {
        let mut turn = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            let name = format!("w{number}-{}", self.random.random_range(0..OBJECTS));
            self.write(&name, turn).await;
            turn += 1;
            tokio::time::sleep(PAUSE).await;
        }
        self.written
    }

    /// Does one thing to an object: to one that is there, one of four; one that is not there is
    /// made.
    async fn write(&mut self, name: &str, turn: u64) {
        let path = format!("{}/{name}", self.collection);
        let tier = if self.random.random_bool(0.5) { "front" } else { "back" };
        let metadata = json!({ "name": name, "labels": { "tier": tier } });
        let whole = json!({ "metadata": metadata, "data": { "turn": turn.to_string(), "fill": "x".repeat(200) } });
        let answer = match self.random.random_range(0..8) {
            0 => self.send(Method::DELETE, &path, None).await,
            1 | 2 => {
                self.send(
                    Method::PATCH,
                    &path,
                    Some(&json!({ "metadata": { "labels": { "tier": tier } } })),
                )
                .await
            }
            3 => {
                self.send(
                    Method::PATCH,
                    &path,
                    Some(&json!({ "data": { "turn": turn.to_string() } })),
                )
                .await
            }
            _ => self.send(Method::PUT, &path, Some(&whole)).await,
        };
        let answer = match answer {
            Some(answer) if answer.status == 404 => {
                let collection = self.collection.clone();
                self.send(Method::POST, &collection, Some(&whole)).await
            }
            answer => answer,
        };
        let Some(Answer { status, body }) = answer else {
            return;
        };
        match status {
            200 if body["kind"] == "Status" => {
                self.written.deleted.push(body["details"]["uid"].as_str().unwrap().to_owned());
            }
            200 | 201 => {
                let revision =
                    body["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
                self.written.changed.push((revision, name.to_owned()));
            }
            // Another attempt of this writer, whose answer was lost, was faster.
            404 | 409 => {}
            other => panic!("{name}: {other} {body:#}"),
        }
    }

    /// An answer that says what has happened; none when that is open or when nothing has.
    async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Option<Answer> {
        let answer = self.clients[0].send(method, path, body).await;
        match answer {
            Ok(answer) if !matches!(answer.status, 429 | 500 | 503 | 504) => Some(answer),
            _ => {
                self.clients.rotate_left(1);
                None
            }
        }
    }
}
