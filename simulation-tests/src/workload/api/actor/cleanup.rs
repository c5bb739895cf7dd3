//! The client that ends a round: once the faults are over it removes every finalizer that actors
//! have left, and then waits until every node serves. Liveness: both within a limit.

use std::time::Duration;

use serde_json::Value;

use super::super::{ClientSetup, LASTING, PASSING};
use super::Actor;
use crate::api::{ApiRequest, HOLD, ResourceKind, Verb};

/// How long after the faults everything must have been cleared up and every node must serve.
pub(in crate::workload) const HEALING: Duration = Duration::from_secs(40);
/// Pause after a failure.
pub(in crate::workload) const PAUSE: Duration = Duration::from_millis(50);

/// The client's whole life.
pub(crate) async fn clear_up(setup: ClientSetup) {
    let mut client = Actor::new(setup);
    let mut coming = Some(client.setup.rounds.current());
    while let Some(round) = coming {
        while client.setup.progress.clients_done() < client.setup.actors {
            tokio::time::sleep(PAUSE).await;
        }
        for kind in [ResourceKind::ConfigMaps, ResourceKind::Secrets, ResourceKind::Services] {
            client.release_all(kind).await;
        }
        for node in client.setup.nodes.clone() {
            client.insist(node).await;
        }
        client.setup.progress.client_done();
        coming = client.setup.rounds.after(round).await;
    }
}

impl Actor {
    pub(in crate::workload) fn is_late(&self) -> bool {
        turmoil::elapsed() > self.setup.rounds.until() + HEALING
    }

    /// Until a consistent list shows no object that is held.
    async fn release_all(&mut self, kind: ResourceKind) {
        while !self.is_late() {
            let Some(reply) = self
                .ask(ApiRequest::new(Verb::List, kind, "", ""))
                .await
                .filter(|reply| reply.status == 200)
            else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let items = reply.body["items"].as_array().cloned().unwrap_or_default();
            let held: Vec<Value> = items.into_iter().filter(is_held).collect();
            if held.is_empty() {
                return;
            }
            for object in held {
                let text =
                    |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                let ask = self.release_of(kind, &text("namespace"), &text("name"));
                self.ask(ask).await;
            }
        }
        let text =
            format!("liveness: {} are still held {HEALING:?} after the faults", kind.plural());
        self.setup.progress.violation(text);
    }

    /// Repeats a write and a read through this node until both succeed; a violation when they do
    /// not in time.
    pub(in crate::workload) async fn insist(&mut self, node: u64) {
        let (mut written, mut read) = (false, false);
        while !(written && read) {
            if self.is_late() {
                let what = if written { "read" } else { "write" };
                let text = format!(
                    "liveness: node {node} does no {what} of the API {HEALING:?} after the faults"
                );
                return self.setup.progress.violation(text);
            }
            tokio::time::sleep(PAUSE).await;
            if self.client.as_ref().is_none_or(|client| client.node() != node)
                && self.connect(node).await.is_err()
            {
                continue;
            }
            let ask = if written {
                ApiRequest::new(Verb::List, ResourceKind::ConfigMaps, LASTING[0], "")
            } else {
                self.create_namespace(PASSING[0])
            };
            let reply = self.ask_here(ask).await;
            // That the namespace exists already, or is going, is an answer of the quorum as well.
            let done = reply.is_some_and(|reply| reply.is_success() || reply.status == 409);
            (written, read) = (written || done, written && done);
        }
    }
}

/// Whether the finalizer of actors holds an object.
pub(in crate::workload) fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|all| all.iter().any(|finalizer| finalizer == HOLD))
}
