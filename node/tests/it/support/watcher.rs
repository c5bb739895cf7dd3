//! A watch that resumes: when its stream breaks it goes on at the next node, after the last
//! revision that it received.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Client;

/// How long a stream may be silent. One through a network that is cut says nothing for ever.
const SILENCE: Duration = Duration::from_secs(10);

/// An event as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) revision: u64,
}

/// A running watch; it ends with the test.
pub(crate) struct Watcher {
    events: mpsc::UnboundedReceiver<Event>,
    task: JoinHandle<()>,
}

impl Watcher {
    /// Watches a collection after a revision, through these clients in turn.
    pub(crate) fn start(clients: Vec<Client>, collection: &str, after: u64) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let task = tokio::spawn(follow(clients, collection.to_owned(), after, sender));
        Self { events, task }
    }

    /// Every event up to and including the first at or after this revision.
    pub(crate) async fn until(&mut self, revision: u64) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::new();
        while all.last().is_none_or(|event| event.revision < revision) {
            let next = tokio::time::timeout(super::PATIENCE, self.events.recv()).await;
            let seen = all.last().map(|event| event.revision);
            all.push(
                next.unwrap_or_else(|_| panic!("no event up to {revision}, last {seen:?}"))
                    .expect("the watch goes on"),
            );
        }
        all
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(
    mut clients: Vec<Client>,
    collection: String,
    mut after: u64,
    events: mpsc::UnboundedSender<Event>,
) {
    loop {
        // A broken stream is what this watcher is for; the next one goes on where it ended.
        let _ = stream(&mut clients[0], &collection, &mut after, &events).await;
        if events.is_closed() {
            return;
        }
        clients.rotate_left(1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn stream(
    client: &mut Client,
    collection: &str,
    after: &mut u64,
    events: &mpsc::UnboundedSender<Event>,
) -> Result<(), String> {
    let path = format!("{collection}?watch=1&resourceVersion={after}&timeoutSeconds=600");
    let answer = client.start(Method::GET, &path, None).await?;
    if answer.status() != 200 {
        return Err(answer.status().to_string());
    }
    let (mut body, mut rest) = (answer.into_body(), Vec::new());
    loop {
        let next = tokio::time::timeout(SILENCE, body.frame()).await;
        let Some(frame) = next.map_err(|_| "nothing comes".to_owned())? else { return Ok(()) };
        let Ok(data) = frame.map_err(|error| error.to_string())?.into_data() else {
            continue;
        };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
            let (kind, object) = (event["type"].as_str().unwrap(), &event["object"]);
            assert_ne!(kind, "ERROR", "after revision {after}: {object}");
            *after = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if events.send(Event { name, revision: *after }).is_err() {
                return Ok(());
            }
        }
    }
}
