//! A client that watches a collection through changing nodes: it begins with the present objects,
//! resumes after the last event or bookmark that it has seen, and from time to time begins anew.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use super::exchange::WatchRun;
use super::{COLORS, ClientSetup, LASTING, PASSING};
use crate::api::{ApiRequest, At, Client, ResourceKind, Verb, version};

/// How long after the faults a watcher must have seen everything.
const HEALING: Duration = Duration::from_secs(50);
/// How long it waits for the head of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Pause after a connection that failed.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause of a slow reader between two events, milliseconds.
const MAX_PAUSE_MS: u64 = 500;
/// Longest time that a watcher stays away, milliseconds.
const MAX_AWAY_MS: u64 = 6000;
/// The status of what is no longer kept.
const EXPIRED: u16 = 410;

struct ApiWatcher {
    setup: ClientSetup,
    rng: StdRng,
    ask: ApiRequest,
    /// Up to where everything has been seen; `None` before the end of the initial events.
    seen: Option<u64>,
}

/// Watches, every round until it has seen every acknowledged revision.
pub(crate) async fn watch(setup: ClientSetup) {
    let mut rng = StdRng::seed_from_u64(setup.seed);
    let kind =
        if rng.random_ratio(1, 4) { ResourceKind::Secrets } else { ResourceKind::ConfigMaps };
    let namespace = ["", "", LASTING[0], PASSING[0]][rng.random_range(0..4)];
    let mut ask = ApiRequest::new(Verb::Watch, kind, namespace, "");
    ask.color = rng.random_ratio(1, 2).then(|| COLORS[rng.random_range(0..COLORS.len())]);
    let mut watcher = ApiWatcher { setup, rng, ask, seen: None };
    let mut coming = Some(watcher.setup.rounds.current());
    while let Some(round) = coming {
        watcher.watch_until(round.until).await;
        watcher.setup.progress.watcher_done();
        coming = watcher.setup.rounds.after(round).await;
    }
}

impl ApiWatcher {
    /// One round, whose faults end then.
    async fn watch_until(&mut self, until: Duration) {
        let actors = self.setup.actors;
        while self
            .setup
            .progress
            .last(actors + 1)
            .is_none_or(|last| self.seen.is_none_or(|seen| seen < last))
        {
            if turmoil::elapsed() > until + HEALING {
                let (number, seen) = (self.setup.number, self.seen);
                let text = format!(
                    "liveness: watcher {number} is at {seen:?} {HEALING:?} after the faults"
                );
                return self.setup.progress.violation(text);
            }
            self.run().await;
        }
    }

    /// One connection, from dialing to its end.
    async fn run(&mut self) {
        let node = self.setup.nodes[self.rng.random_range(0..self.setup.nodes.len())];
        if self.rng.random_ratio(1, 12) {
            self.seen = None;
        }
        if self.rng.random_ratio(1, 10) && turmoil::elapsed() < self.setup.rounds.until() {
            tokio::time::sleep(Duration::from_millis(self.rng.random_range(0..MAX_AWAY_MS))).await;
        }
        let mut ask = self.ask.clone();
        ask.initial = self.seen.is_none();
        ask.at = self.seen.map_or(At::MostRecent, At::Exact);
        // Sometimes it asks for what it has seen before, which may be kept no longer.
        if let Some(seen) = self.seen.filter(|_| self.rng.random_ratio(1, 15)) {
            ask.at = At::Exact(self.rng.random_range(1..=seen));
        }
        ask.timeout = self.rng.random_range(1..6);
        // Sometimes this client goes before the server ends the stream.
        let stay = Duration::from_millis(self.rng.random_range(100..8000));
        let asked = turmoil::elapsed();
        let mut run = WatchRun {
            client: self.setup.number,
            node,
            asked,
            ask,
            lines: Vec::new(),
            ended: None,
            refused: None,
        };
        let followed = tokio::time::timeout(stay, self.follow(&mut run)).await;
        if matches!(followed, Ok(Some(()))) {
            run.ended = Some(turmoil::elapsed());
        } else {
            tokio::time::sleep(PAUSE).await;
        }
        self.setup.progress.watched(run);
    }

    /// Takes events until the stream ends; `None` when it breaks.
    async fn follow(&mut self, run: &mut WatchRun) -> Option<()> {
        let ClientSetup { env, tls, broken, .. } = &self.setup;
        let mut client =
            Client::connect(&*env.network, run.node, tls.clone(), *broken).await.ok()?;
        let mut lines = match client.watch(&run.ask, ANSWER_LIMIT).await.ok()? {
            Ok(lines) => lines,
            Err(reply) => {
                if reply.status == EXPIRED {
                    self.seen = None;
                }
                run.refused = Some((turmoil::elapsed(), reply));
                return None;
            }
        };
        let slow = self
            .rng
            .random_ratio(1, 6)
            .then(|| Duration::from_millis(self.rng.random_range(50..MAX_PAUSE_MS)));
        while let Some(event) = lines.next().await.ok()? {
            self.see(&event);
            run.lines.push((turmoil::elapsed(), event));
            if let Some(pause) = slow {
                tokio::time::sleep(pause).await;
            }
        }
        Some(())
    }

    fn see(&mut self, event: &Value) {
        let (kind, at) = (event["type"].as_str().unwrap_or_default(), version(&event["object"]));
        if kind == "ERROR" && event["object"]["code"] == EXPIRED {
            self.seen = None;
        }
        let Some(at) = at.filter(|_| kind != "ERROR") else {
            return;
        };
        // The initial events come in the order of names; only the bookmark after them says up to
        // where everything is known.
        if kind == "BOOKMARK" || self.seen.is_some() {
            self.seen = self.seen.max(Some(at));
        }
    }
}
