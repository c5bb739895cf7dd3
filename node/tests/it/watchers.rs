//! Watchers that stop reading, and watchers that vanish: the first miss nothing and cost little,
//! the others leave nothing.

use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::load::{collection, make_namespace};
use crate::overload::token;
use crate::support::{Client, Cluster, PATIENCE, eventually};

/// Bytes of each change: many more than a connection buffers while its client does not read.
const CHANGE_BYTES: usize = 100_000;
const CHANGES: u64 = 150;
/// Watchers that do not read.
const STALLED: usize = 40;
/// What each of them may cost in memory; all that was not read would be `CHANGE_BYTES * CHANGES`.
const STALLED_BYTES: u64 = 2 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_stop_reading_miss_nothing_and_cost_little() {
    let cluster = Cluster::start(1, &[]);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "load").await;
    let begin = *change_often(&mut client).await.last().unwrap();
    let mut watchers = Vec::new();
    for _ in 0..STALLED {
        watchers.push(Stalled::open(cluster.client(1), begin).await);
    }
    // What the changes themselves cost is known from those before; the first of these lie in
    // buffers of the connections.
    let before = cluster.resident(1);
    let expect = change_often(&mut client).await;
    let last = *expect.last().unwrap();
    let grown = cluster.resident(1).saturating_sub(before);
    println!("{STALLED} watchers that do not read: {} MB more", grown >> 20);
    assert!(
        grown < STALLED as u64 * STALLED_BYTES + CHANGE_BYTES as u64 * CHANGES * 2,
        "{grown} bytes more"
    );
    for watcher in watchers.into_iter().take(3) {
        let seen = tokio::time::timeout(PATIENCE, watcher.read_to(&cluster, begin, last))
            .await
            .expect("everything comes");
        assert_eq!(seen, expect);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_vanish_give_back_their_places() {
    let cluster = Cluster::start(1, &["--max-watches=8"]);
    let mut admin = cluster.client(1);
    let begin = make_namespace(&mut admin, "load").await;
    let token = token(&mut admin, "load", "robot").await;
    let robot = || Client::bearer(&cluster.address(1), &cluster.root().join("pki"), &token);
    let path = format!("{}?watch=1&resourceVersion={begin}", collection("load"));
    for round in 0..5 {
        let mut open = Vec::new();
        // One identity gets half of the places.
        for number in 0..4 {
            let what = format!("place {number} in round {round}");
            let watch = eventually(&what, async || {
                let mut client = robot();
                let answer = client.start(Method::GET, &path, None).await.unwrap();
                (answer.status() == 200).then_some((client, answer))
            });
            open.push(watch.await);
        }
        let refused = robot().start(Method::GET, &path, None).await.unwrap();
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"1".parse().unwrap())
        );
        // Without a word.
        drop(open);
    }
}

/// Changes one object again and again; gives the revisions.
async fn change_often(client: &mut Client) -> Vec<u64> {
    let path = format!("{}/big", collection("load"));
    let mut revisions = Vec::new();
    for turn in 0..CHANGES {
        let data = json!({ "turn": turn.to_string(), "fill": "f".repeat(CHANGE_BYTES) });
        let body = json!({ "metadata": { "name": "big" }, "data": data });
        let mut answer = client.send(Method::PUT, &path, Some(&body)).await.unwrap();
        if answer.status == 404 {
            answer = client.post(&collection("load"), &body).await;
        }
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        revisions.push(answer.revision());
    }
    revisions
}

/// A watch that was opened and not read.
struct Stalled {
    /// The connection ends with it.
    client: Client,
    body: Incoming,
    seen: Vec<u64>,
}

impl Stalled {
    async fn open(mut client: Client, after: u64) -> Self {
        let path =
            format!("{}?watch=1&resourceVersion={after}&timeoutSeconds=3600", collection("load"));
        let answer = client.start(Method::GET, &path, None).await.unwrap();
        assert_eq!(answer.status(), 200);
        Self { client, body: answer.into_body(), seen: Vec::new() }
    }

    /// Reads up to a revision. A connection of which nothing was taken for a minute is cut: that
    /// client goes on after the last event that it has.
    async fn read_to(mut self, cluster: &Cluster, begin: u64, last: u64) -> Vec<u64> {
        let mut rest = Vec::new();
        while self.seen.last().is_none_or(|seen| *seen < last) {
            match self.body.frame().await {
                Some(Ok(frame)) => rest.extend_from_slice(frame.data_ref().unwrap()),
                _ => {
                    let seen = std::mem::take(&mut self.seen);
                    self =
                        Self::open(cluster.client(1), seen.last().copied().unwrap_or(begin)).await;
                    (self.seen, rest) = (seen, Vec::new());
                }
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let event: Value = serde_json::from_slice(&rest[..end]).unwrap();
                assert_ne!(event["type"], "ERROR", "{event}");
                self.seen.push(
                    event["object"]["metadata"]["resourceVersion"]
                        .as_str()
                        .unwrap()
                        .parse()
                        .unwrap(),
                );
                rest.drain(..=end);
            }
        }
        drop(self.client);
        self.seen
    }
}
