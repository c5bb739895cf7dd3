//! An informer made with an official client library: a program that prints its events as lines of
//! JSON.
//!
//! `{"listed": true}` after each list; then the changes, `{"deleted", "name", "uid", "revision"}`;
//! and, for each line that it reads, what it believes to be there: `{"store": {NAME: {"uid",
//! "revision", "labels", "data"}}}`.

use std::process::Stdio;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::history::{Change, History};
use crate::support::{Client, PATIENCE, eventually};

/// Between two looks at what an informer believes.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A running informer; it ends with the test.
pub(crate) struct Informer {
    pub(crate) name: String,
    /// The selector that it was given; empty for everything.
    pub(crate) selector: String,
    child: Child,
    input: ChildStdin,
    lists: watch::Receiver<usize>,
    stores: mpsc::UnboundedReceiver<Value>,
    listener: JoinHandle<History>,
}

impl Informer {
    /// Starts the program; the command has its arguments.
    pub(crate) fn start(name: &str, selector: &str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (listed, lists) = watch::channel(0);
        let (told, stores) = mpsc::unbounded_channel();
        let listener = tokio::spawn(listen(BufReader::new(output).lines(), listed, told));
        Self {
            name: name.to_owned(),
            selector: selector.to_owned(),
            child,
            input,
            lists,
            stores,
            listener,
        }
    }

    /// Waits until it has listed that often.
    pub(crate) async fn listed(&mut self, times: usize) {
        let listed =
            tokio::time::timeout(PATIENCE, self.lists.wait_for(|lists| *lists >= times)).await;
        listed.unwrap_or_else(|_| panic!("{} does not list", self.name)).unwrap();
    }

    /// How often it has listed.
    pub(crate) fn lists(&self) -> usize {
        *self.lists.borrow()
    }

    /// Waits until it believes what a server says is there.
    pub(crate) async fn agrees(&mut self, client: &mut Client, collection: &str) {
        let path = format!("{collection}?labelSelector={}", self.selector.replace('=', "%3D"));
        let what = format!("{} believes what is there", self.name);
        eventually(&what, async || {
            let there = client
                .send(Method::GET, &path, None)
                .await
                .ok()
                .filter(|answer| answer.status == 200)?;
            if self.store().await == described(&there.body) {
                return Some(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            None
        })
        .await;
    }

    /// Ends it; gives what it was told.
    pub(crate) async fn finish(mut self) -> History {
        drop(self.input);
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("{} does not end", self.name)).unwrap();
        assert!(status.success(), "{}: {status}", self.name);
        self.listener.await.unwrap()
    }

    async fn store(&mut self) -> Value {
        self.input.write_all(b"\n").await.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let store = tokio::time::timeout(PATIENCE, self.stores.recv()).await;
        store.unwrap_or_else(|_| panic!("{} does not answer", self.name)).unwrap()
    }
}

async fn listen(
    mut lines: Lines<BufReader<ChildStdout>>,
    listed: watch::Sender<usize>,
    stores: mpsc::UnboundedSender<Value>,
) -> History {
    let mut history = History::default();
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(store) = line.get("store") {
            // The receiver is gone when the test is over.
            let _ = stores.send(store.clone());
        } else if line.get("listed").is_some() {
            listed.send_modify(|lists| *lists += 1);
        } else {
            let text =
                |field: &str| line[field].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
            let (name, uid, revision) =
                (text("name"), text("uid"), text("revision").parse().unwrap());
            history.push(Change { deleted: line["deleted"] == true, name, uid, revision });
        }
    }
    history
}

/// A list as informers describe their stores.
fn described(list: &Value) -> Value {
    let one = |item: &Value| {
        let metadata = &item["metadata"];
        let labels = metadata.get("labels").cloned().unwrap_or_else(|| json!({}));
        json!({ "uid": metadata["uid"], "revision": metadata["resourceVersion"], "labels": labels, "data": item["data"] })
    };
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), one(item))).collect()
}
