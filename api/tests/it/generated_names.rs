//! Names from `generateName`: the server makes another when one is taken, and gives up after a few
//! (KEP-4420).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;
use quorate_env::Entropy;
use serde_json::json;

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const JOBS: &str = "/apis/batch/v1/namespaces/a/jobs";
/// Names that are tried for one object.
const ATTEMPTS: u64 = 8;
/// Bytes that are drawn for a name, and for nothing else here.
const NAME_BYTES: usize = 8;

/// Randomness that counts up, but the first draws for names are all the same.
#[derive(Debug, Default)]
struct Alike {
    /// How many they are.
    first: u64,
    names: AtomicU64,
    others: AtomicU64,
}

impl Alike {
    /// Names drawn so far.
    fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }
}

impl Entropy for Alike {
    fn fill(&self, buffer: &mut [u8]) {
        let counter = if buffer.len() == NAME_BYTES { &self.names } else { &self.others };
        let turn = counter.fetch_add(1, Ordering::Relaxed);
        let number = if buffer.len() == NAME_BYTES && turn < self.first { 0 } else { turn };
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A server with the namespace `a` on which so many names come out the same.
async fn server(first: u64) -> (Server, Arc<Alike>) {
    let entropy = Arc::new(Alike { first, ..Alike::default() });
    let mut server = Server::new();
    Arc::get_mut(&mut server.api).expect("nobody else has it yet").env.entropy = entropy.clone();
    server.namespace("a").await;
    (server, entropy)
}

async fn create(server: &Server, path: &str) -> Answer {
    server
        .send(Method::POST, path, &[], json!({"metadata": {"generateName": "g-"}}).to_string())
        .await
}

async fn create_job(server: &Server) -> Answer {
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let body = json!({"metadata": {"generateName": "g-"}, "spec": {"template": {"spec": spec}}});
    server.send(Method::POST, JOBS, &[], body.to_string()).await
}

fn name(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["metadata"]["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_name_that_is_taken_is_made_again() {
    let (server, entropy) = server(3).await;
    assert_eq!(name(&create(&server, MAPS).await), "g-bbbbb");
    let second = create(&server, MAPS).await;
    assert_eq!((name(&second).as_str(), entropy.names()), ("g-fbbbb", 4), "two were taken");
    assert_eq!(second.json(), server.get(&format!("{MAPS}/g-fbbbb")).await.json());
    assert_eq!(server.get(MAPS).await.names(), ["g-bbbbb", "g-fbbbb"]);
}

#[tokio::test]
async fn what_follows_from_a_name_follows_from_the_last_one() {
    let (server, _) = server(2).await;
    let namespaces = "/api/v1/namespaces";
    assert_eq!(name(&create(&server, namespaces).await), "g-bbbbb");
    let second = create(&server, namespaces).await;
    assert_ne!(name(&second), "g-bbbbb");
    assert_eq!(second.json()["metadata"]["labels"], json!({"svc.io/metadata.name": name(&second)}));
}

#[tokio::test]
async fn a_job_is_tried_again_with_labels_of_the_new_name() {
    let (server, entropy) = server(3).await;
    assert_eq!(name(&create_job(&server).await), "g-bbbbb");
    let second = create_job(&server).await;
    assert_eq!((name(&second).as_str(), entropy.names()), ("g-fbbbb", 4), "two were taken");
    let job = second.json();
    let uid = &job["metadata"]["uid"];
    let expect = json!({"batch.svc.io/controller-uid": uid, "batch.svc.io/job-name": "g-fbbbb", "controller-uid": uid,
        "job-name": "g-fbbbb"});
    assert_eq!(
        (&job["metadata"]["labels"], &job["spec"]["template"]["metadata"]["labels"]),
        (&expect, &expect)
    );
    assert_eq!(
        job["spec"]["selector"],
        json!({"matchLabels": {"batch.svc.io/controller-uid": uid}})
    );
    assert_eq!(job, server.get(&format!("{JOBS}/g-fbbbb")).await.json());
}

#[tokio::test]
async fn a_job_whose_names_are_all_taken_is_given_up_as_everything_else() {
    let (server, entropy) = server(u64::MAX).await;
    assert_eq!(name(&create_job(&server).await), "g-bbbbb");
    let drawn = entropy.names();
    let refused = create_job(&server).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["reason"]),
        (409, &json!("AlreadyExists"))
    );
    assert_eq!((refused.header("retry-after"), entropy.names() - drawn), ("1", ATTEMPTS));
}

#[tokio::test]
async fn after_eight_names_that_are_taken_it_is_given_up() {
    let (server, entropy) = server(u64::MAX).await;
    assert_eq!(name(&create(&server, MAPS).await), "g-bbbbb");
    let taken = "configmaps \"g-bbbbb\" already exists";
    for query in ["", "?dryRun=All"] {
        let drawn = entropy.names();
        let refused = create(&server, &format!("{MAPS}{query}")).await;
        let body = refused.json();
        assert_eq!(
            (refused.status.as_u16(), &body["reason"]),
            (409, &json!("AlreadyExists")),
            "{query}"
        );
        let why =
            format!("{taken}, the server was not able to generate a unique name for the object");
        assert_eq!(
            (&body["message"], &body["details"]["name"]),
            (&json!(why), &json!("g-bbbbb")),
            "{query}"
        );
        assert_eq!(
            (refused.header("retry-after"), entropy.names() - drawn),
            ("1", ATTEMPTS),
            "{query}"
        );
    }
    // A name that the client has chosen is not made again.
    let chosen = json!({"metadata": {"name": "g-bbbbb", "generateName": "g-"}}).to_string();
    let refused = server.send(Method::POST, MAPS, &[], chosen).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["message"]), (409, &json!(taken)));
    assert_eq!((refused.header("retry-after"), entropy.names()), ("", 1 + 2 * ATTEMPTS));
    assert_eq!(server.get(MAPS).await.names(), ["g-bbbbb"]);
}
