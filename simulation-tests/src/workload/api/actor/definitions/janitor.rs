//! The client that ends a round: once the faults are over it sees to it that every custom kind has
//! a definition, asks each node what it serves, deletes all definitions, and asks again. Liveness:
//! all of it within a limit.

use std::time::Duration;

use serde_json::Value;

use crate::api::{ApiRequest, ResourceKind, Verb};
use crate::workload::api::{Actor, ClientSetup, HEALING, RETRY_PAUSE, is_held};
use crate::workload::definitions::VERSIONS;

/// How long definitions stay while nothing is wrong: long enough that all watchers are there.
const REST: Duration = Duration::from_secs(2);

/// The client's whole life.
pub(crate) async fn clear_up(setup: ClientSetup) {
    let mut client = Actor::new(setup);
    let mut coming = Some(client.setup.rounds.current());
    while let Some(round) = coming {
        while client.setup.progress.clients_done() < client.setup.actors {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        for kind in ResourceKind::CUSTOM {
            client.insist_on_definition(kind).await;
        }
        client.look_around().await;
        tokio::time::sleep(REST).await;
        for kind in ResourceKind::CUSTOM {
            client.remove_definition(kind).await;
        }
        client.look_around().await;
        client.setup.progress.client_done();
        coming = client.setup.rounds.after(round).await;
    }
}

impl Actor {
    /// Asks each node what it serves, after it has shown what it has.
    async fn look_around(&mut self) {
        for node in self.setup.nodes.clone() {
            self.insist(node).await;
            for kind in ResourceKind::CUSTOM {
                for version in VERSIONS {
                    for (verb, table) in
                        [(Verb::Discover, false), (Verb::List, false), (Verb::List, true)]
                    {
                        let ask = ApiRequest::new(verb, kind, "", "");
                        self.ask_here(ApiRequest { version, table, ..ask }).await;
                    }
                }
            }
        }
    }

    /// The definition of a kind as it is; `None` when it is not there, an error when it is not
    /// known.
    async fn definition_now(&mut self, kind: ResourceKind) -> Result<Option<Value>, ()> {
        match self.ask(self.get_definition(kind)).await {
            Some(reply) if reply.status == 200 => Ok(Some(reply.body)),
            Some(reply) if reply.status == 404 => Ok(None),
            _ => Err(()),
        }
    }

    /// Until a definition is established, and not on its way out.
    async fn insist_on_definition(&mut self, kind: ResourceKind) {
        while !self.is_late() {
            match self.definition_now(kind).await {
                Ok(Some(there)) if !there["metadata"]["deletionTimestamp"].is_null() => {
                    self.release_held(kind).await;
                }
                Ok(Some(there)) if is_established(&there) => return,
                Ok(None) => {
                    let ask = self.define(kind);
                    self.ask(ask).await;
                }
                _ => {}
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        self.too_late(kind, "established");
    }

    /// Until a definition is gone.
    async fn remove_definition(&mut self, kind: ResourceKind) {
        while !self.is_late() {
            match self.definition_now(kind).await {
                Ok(None) => return,
                Ok(Some(there)) if there["metadata"]["deletionTimestamp"].is_null() => {
                    let ask = self.undefine(kind);
                    self.ask(ask).await;
                }
                Ok(Some(_)) => self.release_held(kind).await,
                Err(()) => {}
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        self.too_late(kind, "gone");
    }

    /// Takes away the finalizers that actors have left.
    async fn release_held(&mut self, kind: ResourceKind) {
        let Some(reply) = self.ask(ApiRequest::new(Verb::List, kind, "", "")).await else {
            return;
        };
        let items = reply.body["items"].as_array().cloned().unwrap_or_default();
        for object in items.iter().filter(|object| is_held(object)) {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            let ask = self.release_of(kind, text("namespace"), text("name"));
            self.ask(ask).await;
        }
    }

    fn too_late(&self, kind: ResourceKind, what: &str) {
        let definition = kind.definition();
        let (known, objects) = (self.definition_of(kind), self.known.iter());
        let held: Vec<_> = objects.filter(|(id, _)| id.0 == kind).collect();
        let status = known.map(|known| (&known["metadata"], &known["status"]));
        let text = format!(
            "liveness: {definition} is not {what} {HEALING:?} after the faults: {status:?} {held:?}"
        );
        self.setup.progress.violation(text);
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}
