//! A client that watches the objects of a custom kind through changing nodes, also while there is
//! no definition of it.
//!
//! Its watches have no end of their own: while faults go on it leaves them after a while; after the
//! faults each has to end with its definition.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use super::VERSIONS;
use crate::api::{ApiRequest, At, Client, ResourceKind, Verb, version};
use crate::workload::api::{ClientSetup, WatchRun};

/// How long after the faults the last watch must have ended.
const HEALING: Duration = Duration::from_secs(50);
/// How long a watch may go on after its definition has gone, when nothing is wrong.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long it waits for the head of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Pause after a connection that failed, and between two looks at the others.
const PAUSE: Duration = Duration::from_millis(100);
/// How long it stays while faults go on, milliseconds.
const STAY_MS: std::ops::Range<u64> = 500..15_000;
/// The length that it asks for, seconds: more than any fault makes a timer jump.
const LENGTH_SECONDS: u64 = 3600;

struct CustomWatcher {
    setup: ClientSetup,
    rng: StdRng,
    kind: ResourceKind,
    namespace: &'static str,
    /// Up to where everything has been seen; `None` before the end of the initial events.
    seen: Option<u64>,
}

/// Watches, every round until the definition has gone for good.
pub(crate) async fn watch(setup: ClientSetup) {
    let mut rng = StdRng::seed_from_u64(setup.seed);
    let kind = ResourceKind::CUSTOM[rng.random_range(0..ResourceKind::CUSTOM.len())];
    let namespaces = ["", crate::workload::api::LASTING[0]];
    let namespace = if kind.is_namespaced() { namespaces[rng.random_range(0..2)] } else { "" };
    let mut watcher = CustomWatcher { setup, rng, kind, namespace, seen: None };
    let mut coming = Some(watcher.setup.rounds.current());
    while let Some(round) = coming {
        watcher.watch_until(round.until).await;
        watcher.setup.progress.watcher_done();
        coming = watcher.setup.rounds.after(round).await;
    }
}

impl CustomWatcher {
    /// One round, whose faults end then.
    async fn watch_until(&mut self, until: Duration) {
        loop {
            let (is_calm, is_gone) = (self.are_done(0), self.are_done(1));
            let unserved = self.run(is_calm).await;
            if is_gone && unserved {
                return;
            }
            if turmoil::elapsed() > until + HEALING {
                let (number, kind) = (self.setup.number, self.kind.definition());
                let text = format!(
                    "liveness: watcher {number} still finds {kind} {HEALING:?} after the faults"
                );
                return self.setup.progress.violation(text);
            }
        }
    }

    /// Whether all actors, and so many others, have finished this round.
    fn are_done(&self, others: u64) -> bool {
        self.setup.progress.clients_done() >= self.setup.actors + others
    }

    /// One connection, from dialing to its end. True when the node knows no such resource.
    async fn run(&mut self, is_calm: bool) -> bool {
        let node = self.setup.nodes[self.rng.random_range(0..self.setup.nodes.len())];
        if self.rng.random_ratio(1, 6) {
            self.seen = None;
        }
        let mut ask = ApiRequest::new(Verb::Watch, self.kind, self.namespace, "");
        ask.version = VERSIONS[usize::from(self.rng.random_ratio(1, 4) && !is_calm)];
        ask.initial = self.seen.is_none();
        ask.at = self.seen.map_or(At::MostRecent, At::Exact);
        ask.timeout = LENGTH_SECONDS;
        let stay = Duration::from_millis(self.rng.random_range(STAY_MS));
        let mut run = WatchRun {
            client: self.setup.number,
            node,
            asked: turmoil::elapsed(),
            ask,
            lines: Vec::new(),
            ended: None,
            refused: None,
        };
        let (setup, kind) = (self.setup.progress.clone(), self.kind.definition());
        let done = self.setup.actors + 1;
        let too_long = async {
            if !is_calm {
                return tokio::time::sleep(stay).await;
            }
            while setup.clients_done() < done {
                tokio::time::sleep(PAUSE).await;
            }
            tokio::time::sleep(END_LIMIT).await;
        };
        let followed = tokio::select! {
            followed = self.follow(&mut run) => Some(followed),
            () = too_long => None,
        };
        match followed {
            Some(Some(())) => run.ended = Some(turmoil::elapsed()),
            Some(None) => tokio::time::sleep(PAUSE).await,
            None if is_calm => setup.violation(format!(
                "liveness: a watch at node {node} is open {END_LIMIT:?} after {kind} has gone"
            )),
            None => {}
        }
        let unserved = run.refused.as_ref().is_some_and(|(_, reply)| reply.is_unserved());
        self.setup.progress.watched(run);
        unserved
    }

    /// Takes events until the stream ends; `None` when it breaks.
    async fn follow(&mut self, run: &mut WatchRun) -> Option<()> {
        let ClientSetup { env, tls, broken, .. } = &self.setup;
        let mut client =
            Client::connect(&*env.network, run.node, tls.clone(), *broken).await.ok()?;
        let mut lines = match client.watch(&run.ask, ANSWER_LIMIT).await.ok()? {
            Ok(lines) => lines,
            Err(reply) => {
                if reply.status == 410 {
                    self.seen = None;
                }
                run.refused = Some((turmoil::elapsed(), reply));
                return None;
            }
        };
        while let Some(event) = lines.next().await.ok()? {
            self.see(&event);
            run.lines.push((turmoil::elapsed(), event));
        }
        Some(())
    }

    fn see(&mut self, event: &Value) {
        if event["type"] == "ERROR" {
            self.seen = None;
        } else if event["type"] == "BOOKMARK" || self.seen.is_some() {
            self.seen = self.seen.max(version(&event["object"]));
        }
    }
}
