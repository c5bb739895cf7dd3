//! An informer made of kube-rs' `watcher` and `reflector`, for the tests of the binary.
//!
//! Usage: `kube-informer KUBECONFIG HOST:PORT NAMESPACE list|stream [SELECTOR]`. It follows the
//! ConfigMaps of a namespace and prints a line of JSON for each thing that it is told: `{"listed":
//! true}` after each list, then the changes, as `{"deleted", "name", "uid", "revision"}`. When it
//! reads a line it prints what its store holds, as `{"store": {NAME: {"uid", "revision", "labels",
//! "data"}}}`; when its input ends it ends.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::{self, reflector};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use kube_rs_clients::{Failure, connect};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// How long it waits after an error before it asks again.
const BACKOFF: Duration = Duration::from_millis(50);
/// Objects on a page of its list.
const PAGE: u32 = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, address, namespace, how, selector @ ..] = &arguments[..] else {
        return Err("usage: kube-informer KUBECONFIG HOST:PORT NAMESPACE list|stream [SELECTOR]".into());
    };
    let api = Api::namespaced(connect(kubeconfig, address).await?, namespace);
    let mut config = watcher::Config::default().page_size(PAGE);
    if how == "stream" {
        config = config.streaming_lists();
    }
    if let [selector] = selector {
        config = config.labels(selector);
    }
    follow(api, config).await
}

async fn follow(api: Api<ConfigMap>, config: watcher::Config) -> Result<(), Failure> {
    let (store, writer) = reflector::store();
    let mut told = pin!(reflector(writer, watcher(api, config)));
    let mut asked = BufReader::new(stdin()).lines();
    loop {
        tokio::select! {
            line = asked.next_line() => match line? {
                Some(_) => println!("{}", json!({ "store": describe(&store) })),
                None => return Ok(()),
            },
            event = told.next() => match event.expect("a watcher never ends") {
                Ok(Event::Init | Event::InitApply(_)) => {}
                Ok(Event::InitDone) => println!("{}", json!({ "listed": true })),
                Ok(Event::Apply(object)) => tell(&object, false),
                Ok(Event::Delete(object)) => tell(&object, true),
                // No server answers, or the stream broke.
                Err(error) => {
                    eprintln!("{error}");
                    tokio::time::sleep(BACKOFF).await;
                }
            },
        }
    }
}

fn tell(object: &ConfigMap, deleted: bool) {
    let (name, uid, revision) = (object.name_any(), object.uid(), object.resource_version());
    println!("{}", json!({ "deleted": deleted, "name": name, "uid": uid, "revision": revision }));
}

/// What the store holds, by name.
fn describe(store: &reflector::Store<ConfigMap>) -> Map<String, Value> {
    let objects = store.state();
    let one = |object: &ConfigMap| {
        let (uid, revision) = (object.uid(), object.resource_version());
        json!({ "uid": uid, "revision": revision, "labels": object.labels(), "data": object.data })
    };
    objects.iter().map(|object| (object.name_any(), one(object))).collect()
}
