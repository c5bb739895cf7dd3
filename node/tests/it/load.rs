//! Writers that go on through faults, and the check that no acknowledged write is lost.
//!
//! Each writer creates ConfigMaps with names of its own and replaces some of them. What was
//! acknowledged is kept with its revision; a request without an answer may have happened or not,
//! and the name is not used again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Client, Cluster, Event, eventually};

/// Writers at a time.
const WRITERS: usize = 6;
/// So many writes are acknowledged by other nodes before a writer goes back to its own one. All of them
/// would soon be clients of one node otherwise, and nothing would be written while that one is frozen.
const AWAY: u32 = 10;

/// A namespace that writers fill.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    writers: Vec<JoinHandle<Written>>,
}

/// What one writer, or all of them, were told.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Acknowledged revisions with the name and the generation of the object.
    pub(crate) revisions: BTreeMap<u64, (String, u64)>,
    /// When each acknowledgement came.
    times: Vec<Instant>,
    /// Requests without an answer.
    pub(crate) unknown: u64,
    /// Answers that were neither success nor *try again*.
    pub(crate) refused: Vec<(u16, Value)>,
}

/// The collection that the writers of a namespace fill.
pub(crate) fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Makes a namespace.
pub(crate) async fn make_namespace(client: &mut Client, name: &str) -> u64 {
    let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    client.post("/api/v1/namespaces", &body).await.expect(201).revision()
}

impl Load {
    /// Starts the writers, spread over these nodes; each goes to the next node for a while when its own
    /// one does not answer.
    pub(crate) fn start(cluster: &Cluster, nodes: &[u64], namespace: &str) -> Self {
        Self::with(|node| cluster.client(node), nodes, namespace, Duration::ZERO)
    }

    /// The same with clients from elsewhere, each of which rests so long after a request.
    pub(crate) fn with(
        client: impl Fn(u64) -> Client,
        nodes: &[u64],
        namespace: &str,
        pause: Duration,
    ) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writers = (0..WRITERS).map(|number| {
            let mut clients: Vec<Client> = nodes.iter().map(|node| client(*node)).collect();
            clients.rotate_left(number % nodes.len());
            tokio::spawn(write(
                clients,
                collection(namespace),
                (number, pause),
                (stop.clone(), acknowledged.clone()),
            ))
        });
        Self { writers: writers.collect(), stop, acknowledged }
    }

    /// Waits until so many more writes have been acknowledged.
    pub(crate) async fn goes_on(&self, writes: u64) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + writes;
        eventually("writes are acknowledged", async || {
            (self.acknowledged.load(Ordering::Relaxed) >= enough).then_some(())
        })
        .await;
    }

    /// Ends the load and adds up what was acknowledged; no revision may have been given twice.
    pub(crate) async fn finish(self) -> Written {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Written::default();
        for writer in self.writers {
            let part = writer.await.unwrap();
            for (revision, what) in part.revisions {
                let other = all.revisions.insert(revision, what);
                assert!(other.is_none(), "revision {revision} was acknowledged twice: {other:?}");
            }
            all.times.extend(part.times);
            all.unknown += part.unknown;
            all.refused.extend(part.refused);
        }
        all.times.sort();
        all
    }
}

impl Written {
    /// The longest time without an acknowledgement that begins between these two moments.
    pub(crate) fn longest_outage(&self, from: Instant, to: Instant) -> Duration {
        let gaps = self.times.windows(2).filter(|pair| pair[1] > from && pair[0] < to);
        gaps.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    /// All the time in which nothing was acknowledged for longer than this.
    pub(crate) fn outages(&self, longer_than: Duration) -> Duration {
        let gaps = self.times.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.filter(|gap| *gap > longer_than).sum()
    }

    /// Everything acknowledged is there: each name, at its last acknowledged generation or a later
    /// one of unknown outcome.
    pub(crate) async fn check_is_there(&self, client: &mut Client, namespace: &str) {
        let list = client.get(&collection(namespace)).await.expect(200);
        let there: BTreeMap<&str, u64> = list.body["items"]
            .as_array()
            .unwrap()
            .iter()
            // Beside what was written here, a namespace holds what a controller puts into each.
            .filter_map(|item| {
                let generation = item["data"]["generation"].as_str()?.parse().unwrap();
                Some((item["metadata"]["name"].as_str().unwrap(), generation))
            })
            .collect();
        assert!(!self.revisions.is_empty(), "nothing was acknowledged");
        for (revision, (name, generation)) in &self.revisions {
            let found = there.get(name.as_str());
            assert!(
                found.is_some_and(|found| found >= generation),
                "{name} was acknowledged with generation {generation} at revision {revision}, and there is {found:?}"
            );
        }
    }

    /// A watcher saw each acknowledged change once, in order.
    pub(crate) fn check_was_seen(&self, events: &[Event]) {
        let rising = events.windows(2).all(|pair| pair[0].revision < pair[1].revision);
        assert!(rising, "events are out of order or repeated");
        let seen: BTreeSet<(u64, &str)> =
            events.iter().map(|event| (event.revision, event.name.as_str())).collect();
        let last = events.last().map_or(0, |event| event.revision);
        for (revision, (name, _)) in self.revisions.range(..=last) {
            assert!(
                seen.contains(&(*revision, name)),
                "the watch missed {name} at revision {revision}"
            );
        }
    }

    /// The highest acknowledged revision.
    pub(crate) fn last(&self) -> u64 {
        *self.revisions.last_key_value().expect("something was acknowledged").0
    }
}

async fn write(
    mut clients: Vec<Client>,
    collection: String,
    (writer, pause): (usize, Duration),
    (stop, acknowledged): (Arc<AtomicBool>, Arc<AtomicU64>),
) -> Written {
    let (mut written, mut number, mut generation) = (Written::default(), 0, 0);
    // Which of the clients is asked, and how many writes it has had acknowledged.
    let (mut at, mut here) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let name = format!("w{writer}-{number}");
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "data": { "generation": generation.to_string(), "fill": "x".repeat(200) },
        });
        let client = &mut clients[at];
        let result = if generation == 0 {
            client.send(Method::POST, &collection, Some(&body)).await
        } else {
            client.send(Method::PUT, &format!("{collection}/{name}"), Some(&body)).await
        };
        match result {
            Ok(answer) if answer.status == 200 || answer.status == 201 => {
                acknowledged.fetch_add(1, Ordering::Relaxed);
                written.times.push(Instant::now());
                written.revisions.insert(answer.revision(), (name, generation));
                generation = (generation + 1) % 3;
                number += u64::from(generation == 0);
                here += 1;
                if at > 0 && here == AWAY {
                    (at, here) = (0, 0);
                }
            }
            // The server says that nothing has happened.
            Ok(answer) if answer.status == 503 || answer.status == 429 => {
                (at, here) = ((at + 1) % clients.len(), 0);
            }
            other => {
                match other {
                    Ok(answer) if answer.status != 504 && answer.status != 500 => {
                        written.refused.push((answer.status, answer.body));
                    }
                    _ => written.unknown += 1,
                }
                (generation, number) = (0, number + 1);
                (at, here) = ((at + 1) % clients.len(), 0);
            }
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    written
}
