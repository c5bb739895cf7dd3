//! A client that creates, changes, deletes and reads objects through any node, until the faults
//! end; and so every round.
//!
//! Invariant: no two of its requests carry the same stamp, so that an object says which request
//! wrote it.

mod choice;
mod cleanup;
pub(in crate::workload) mod definitions;
mod pages;
pub(in crate::workload) mod policies;

pub(crate) use choice::choose;
pub(crate) use cleanup::clear_up;
pub(in crate::workload) use cleanup::{HEALING, PAUSE as RETRY_PAUSE, is_held};

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use super::exchange::{ApiCall, ApiExchange};
use super::{ClientSetup, LASTING};
use crate::api::{ApiReply, ApiRequest, Client, ResourceKind, Verb};

/// How long a client waits for an answer.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Pause after a namespace could not be made.
const PAUSE: Duration = Duration::from_millis(80);

/// Kind, namespace and name.
pub(in crate::workload) type ObjectId = (ResourceKind, String, String);

/// A client with what it knows.
pub(crate) struct Actor {
    pub(in crate::workload) setup: ClientSetup,
    pub(in crate::workload) rng: StdRng,
    pub(super) client: Option<Client>,
    /// Objects as this client saw them last.
    pub(in crate::workload) known: BTreeMap<ObjectId, Value>,
    /// The newest revision that it has heard of.
    pub(super) newest: u64,
    pub(super) count: u64,
}

/// The client's whole life; `choose` says what it asks next.
pub(crate) async fn act(setup: ClientSetup, choose: fn(&mut Actor) -> ApiRequest) {
    let mut actor = Actor::new(setup);
    for namespace in LASTING {
        actor.begin(namespace).await;
    }
    let mut coming = Some(actor.setup.rounds.current());
    while let Some(round) = coming {
        while turmoil::elapsed() < round.until {
            let pause = actor.rng.random_range(Duration::ZERO..actor.setup.think);
            tokio::time::sleep(pause).await;
            actor.step(choose).await;
        }
        actor.setup.progress.client_done();
        coming = actor.setup.rounds.after(round).await;
    }
}

impl Actor {
    pub(in crate::workload) fn new(setup: ClientSetup) -> Self {
        let rng = StdRng::seed_from_u64(setup.seed);
        Self { setup, rng, client: None, known: BTreeMap::new(), newest: 0, count: 0 }
    }

    /// Makes a namespace, unless another client has.
    async fn begin(&mut self, namespace: &str) {
        while turmoil::elapsed() < self.setup.rounds.until() {
            let ask = self.create_namespace(namespace);
            let reply = self.ask(ask).await;
            if reply.is_some_and(|reply| reply.is_success() || reply.status == 409) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn step(&mut self, choose: fn(&mut Self) -> ApiRequest) {
        let ask = choose(self);
        match (ask.verb, ask.limit) {
            (Verb::List, Some(_)) => self.read_pages(ask).await,
            _ => drop(self.ask(ask).await),
        }
    }

    /// Asks through the current node, or now and then another one.
    pub(in crate::workload) async fn ask(&mut self, ask: ApiRequest) -> Option<ApiReply> {
        if self.client.is_none() || self.rng.random_ratio(1, 8) {
            let node = self.any_node();
            self.connect(node).await.ok()?;
        }
        self.ask_here(ask).await
    }

    pub(super) fn any_node(&mut self) -> u64 {
        let index = self.rng.random_range(0..self.setup.nodes.len());
        self.setup.nodes[index]
    }

    pub(in crate::workload) async fn connect(&mut self, node: u64) -> io::Result<()> {
        self.client = None;
        let ClientSetup { env, tls, broken, .. } = &self.setup;
        self.client = Some(Client::connect(&*env.network, node, tls.clone(), *broken).await?);
        Ok(())
    }

    /// Asks over the current connection, and remembers.
    pub(in crate::workload) async fn ask_here(&mut self, ask: ApiRequest) -> Option<ApiReply> {
        let client = self.client.as_mut()?;
        let (node, asked) = (client.node(), turmoil::elapsed());
        let reply = client.ask(&ask, ANSWER_LIMIT).await;
        if reply.is_err() {
            self.client = None;
        }
        let reply = reply.ok();
        if let Some(reply) = &reply {
            self.learn(&ask, reply);
        }
        let answered = turmoil::elapsed();
        let what = ApiCall { ask, reply: reply.clone() };
        self.setup.progress.exchanged(ApiExchange {
            client: self.setup.number,
            node,
            asked,
            answered,
            what,
        });
        reply
    }

    fn learn(&mut self, ask: &ApiRequest, reply: &ApiReply) {
        if ask.dry_run {
            return;
        }
        let id = (ask.kind, ask.namespace.clone(), ask.name.clone());
        match (ask.verb, reply.status) {
            (_, 404) => drop(self.known.remove(&id)),
            (Verb::List, 200) => {
                let items = reply.body["items"].as_array().cloned().unwrap_or_default();
                items.into_iter().for_each(|item| self.know(ask.kind, item));
            }
            (_, 200..300) if reply.body["kind"] == ask.kind.name() => {
                self.know(ask.kind, reply.body.clone())
            }
            _ => {}
        }
        self.newest = self.newest.max(reply.version().unwrap_or_default());
    }

    fn know(&mut self, kind: ResourceKind, object: Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let id = (kind, text("namespace"), text("name"));
        self.known.insert(id, object);
    }
}
