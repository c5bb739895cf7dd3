//! The client that ends a round: once the faults are over it takes every finalizer away that actors have left, and then wants every node to
//! serve. Liveness: both within a limit.

use std::time::Duration;

use serde_json::Value;

use super::actor::Actor;
use super::{LASTING, PASSING, Person};
use crate::api::{Ask, HOLD, Kind, Verb};

/// How long after the faults everything must have been cleared up and every node must serve.
const HEALING: Duration = Duration::from_secs(40);
/// Pause after a failure.
const PAUSE: Duration = Duration::from_millis(50);

/// The client's whole life.
pub(crate) async fn clear_up(person: Person) {
    let mut janitor = Actor::new(person);
    let mut coming = Some(janitor.person.rounds.current());
    while let Some(round) = coming {
        while janitor.person.progress.clients_done() < janitor.person.actors {
            tokio::time::sleep(PAUSE).await;
        }
        for kind in [Kind::ConfigMaps, Kind::Secrets, Kind::Services] {
            janitor.release_all(kind).await;
        }
        for node in janitor.person.nodes.clone() {
            janitor.insist(node).await;
        }
        janitor.person.progress.client_done();
        coming = janitor.person.rounds.after(round).await;
    }
}

impl Actor {
    fn is_late(&self) -> bool {
        turmoil::elapsed() > self.person.rounds.until() + HEALING
    }

    /// Until a consistent list shows no object that is held.
    async fn release_all(&mut self, kind: Kind) {
        while !self.is_late() {
            let Some(reply) = self.ask(Ask::new(Verb::List, kind, "", "")).await.filter(|reply| reply.status == 200)
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
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                let ask = self.release_of(kind, &text("namespace"), &text("name"));
                self.ask(ask).await;
            }
        }
        let text = format!("liveness: {} are still held {HEALING:?} after the faults", kind.plural());
        self.person.progress.violation(text);
    }

    /// Repeats a write and a read through this node until both succeed; a violation when they do not in time.
    async fn insist(&mut self, node: u64) {
        let (mut written, mut read) = (false, false);
        while !(written && read) {
            if self.is_late() {
                let what = if written { "read" } else { "write" };
                let text = format!("liveness: node {node} does no {what} of the API {HEALING:?} after the faults");
                return self.person.progress.violation(text);
            }
            tokio::time::sleep(PAUSE).await;
            if self.client.as_ref().is_none_or(|client| client.node() != node) && self.connect(node).await.is_err() {
                continue;
            }
            let ask = if written {
                Ask::new(Verb::List, Kind::ConfigMaps, LASTING[0], "")
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

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|finalizer| finalizer == HOLD))
}
