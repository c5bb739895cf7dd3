//! A client that creates, updates, deletes and reads, through any node, until the faults of a round
//! end; then it waits until every node serves.
//!
//! Invariant: no value is ever written twice, so a value says which transaction wrote it.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use quorate_env::Env;
use quorate_store::{Condition, Operation, Outcome, Revision, Txn};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::exchange::{Decision, StoreCall, StoreExchange, StoreProgress};
use crate::gateway::{Answer, GatewayRequest, Session};
use crate::rounds::Rounds;

/// Keys that all writers share.
const SHARED_KEYS: u64 = 6;
/// How long a client waits for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// How long after the faults every node must serve.
const HEALING: Duration = Duration::from_secs(20);

/// The settings of a writer.
pub(crate) struct Writer {
    pub(crate) client: u64,
    pub(crate) seed: u64,
    pub(crate) nodes: u64,
    pub(crate) env: Env,
    pub(crate) progress: StoreProgress,
    /// Its longest pause between two questions.
    pub(crate) think: Duration,
    pub(crate) rounds: Rounds,
}

/// The client's whole life.
pub(crate) async fn work(writer: Writer) {
    let rng = StdRng::seed_from_u64(writer.seed);
    let mut state = Working { writer, rng, session: None, known: BTreeMap::new(), count: 0 };
    let mut coming = Some(state.writer.rounds.current());
    while let Some(round) = coming {
        state.work_until(round.until).await;
        state.writer.progress.client_done();
        coming = state.writer.rounds.after(round).await;
    }
}

struct Working {
    writer: Writer,
    rng: StdRng,
    session: Option<(u64, Session)>,
    /// The newest revision of each shared key that this client has heard of.
    known: BTreeMap<Bytes, Revision>,
    count: u64,
}

impl Working {
    /// One round.
    async fn work_until(&mut self, until: Duration) {
        while turmoil::elapsed() < until {
            let pause = self.rng.random_range(Duration::ZERO..self.writer.think);
            tokio::time::sleep(pause).await;
            let ask = self.choose();
            self.ask(ask).await;
        }
        for node in 1..=self.writer.nodes {
            self.insist(node, until + HEALING).await;
        }
    }

    fn choose(&mut self) -> GatewayRequest {
        let key = self.shared_key();
        match self.rng.random_range(0..100) {
            0..20 => GatewayRequest::Txn(self.create()),
            20..50 => GatewayRequest::Txn(self.update(key)),
            50..60 => GatewayRequest::Txn(self.put_two()),
            60..65 => GatewayRequest::Txn(self.delete(key)),
            _ => {
                let count = self.rng.random_range(1..=3);
                GatewayRequest::Read((0..count).map(|_| self.shared_key()).collect())
            }
        }
    }

    fn shared_key(&mut self) -> Bytes {
        format!("shared/{}", self.rng.random_range(0..SHARED_KEYS)).into()
    }

    /// A value that no client has written before.
    fn value(&mut self) -> Bytes {
        self.count += 1;
        let length =
            if self.rng.random_ratio(1, 20) { 3000 } else { self.rng.random_range(0..200) };
        format!("{}/{}/{}", self.writer.client, self.count, "x".repeat(length)).into()
    }

    fn modified(&self, key: &Bytes) -> Condition {
        Condition::Modified {
            key: key.clone(),
            revision: self.known.get(key).copied().unwrap_or_default(),
        }
    }

    fn create(&mut self) -> Txn {
        let value = self.value();
        let key: Bytes = format!("own/{}/{}", self.writer.client, self.count).into();
        Txn {
            conditions: vec![self.modified(&key)],
            operations: vec![Operation::Put { key, value }],
            ..Txn::default()
        }
    }

    fn update(&mut self, key: Bytes) -> Txn {
        let value = self.value();
        Txn {
            conditions: vec![self.modified(&key)],
            operations: vec![Operation::Put { key, value }],
            ..Txn::default()
        }
    }

    fn put_two(&mut self) -> Txn {
        let value = self.value();
        let first = self.rng.random_range(0..SHARED_KEYS);
        let second = (first + self.rng.random_range(1..SHARED_KEYS)) % SHARED_KEYS;
        let put =
            |key| Operation::Put { key: format!("shared/{key}").into(), value: value.clone() };
        Txn { conditions: vec![], operations: vec![put(first), put(second)], ..Txn::default() }
    }

    /// Only of a key that is known to be there: a transaction that changes nothing has a revision
    /// and no event, and the checkers want to see every revision.
    fn delete(&mut self, key: Bytes) -> Txn {
        if self.known.get(&key).is_none_or(|revision| *revision == Revision::ZERO) {
            return self.update(key);
        }
        Txn {
            conditions: vec![self.modified(&key)],
            operations: vec![Operation::Delete { key }],
            ..Txn::default()
        }
    }

    async fn ask(&mut self, ask: GatewayRequest) {
        if self.session.is_none() || self.rng.random_ratio(1, 10) {
            let node = self.rng.random_range(1..=self.writer.nodes);
            self.session = self.connect(node).await;
        }
        self.ask_here(ask).await;
    }

    async fn connect(&self, node: u64) -> Option<(u64, Session)> {
        Session::connect(&*self.writer.env.network, node).await.ok().map(|session| (node, session))
    }

    /// Asks over the current connection, and remembers. True when a transaction was committed or a
    /// read answered.
    async fn ask_here(&mut self, ask: GatewayRequest) -> bool {
        let Some((node, session)) = &mut self.session else {
            return false;
        };
        let (node, asked) = (*node, turmoil::elapsed());
        let answer = session.ask(&ask, ANSWER_LIMIT).await;
        if answer.is_err() {
            self.session = None;
        }
        let what = match (ask, answer) {
            (GatewayRequest::Txn(txn), Ok(Answer::Decided(outcome))) => {
                StoreCall::Txn(txn, Decision::Decided(outcome))
            }
            (GatewayRequest::Txn(txn), Ok(Answer::Refused(_))) => {
                StoreCall::Txn(txn, Decision::Refused)
            }
            (GatewayRequest::Txn(txn), _) => StoreCall::Txn(txn, Decision::Unknown),
            (GatewayRequest::Read(keys), Ok(Answer::Read { at, found })) => {
                StoreCall::Read { keys, at, found }
            }
            _ => return false,
        };
        self.learn(&what);
        let answered = turmoil::elapsed();
        let done = matches!(
            what,
            StoreCall::Read { .. }
                | StoreCall::Txn(_, Decision::Decided(Outcome::Committed { .. }))
        );
        self.writer.progress.exchanged(StoreExchange {
            client: self.writer.client,
            node,
            asked,
            answered,
            what,
        });
        done
    }

    fn learn(&mut self, what: &StoreCall) {
        match what {
            StoreCall::Read { keys, found, .. } => {
                for (key, entry) in keys.iter().zip(found) {
                    self.known.insert(
                        key.clone(),
                        entry.as_ref().map(|entry| entry.modified).unwrap_or_default(),
                    );
                }
            }
            StoreCall::Txn(txn, Decision::Decided(Outcome::Committed { revision })) => {
                for operation in &txn.operations {
                    let deleted = matches!(operation, Operation::Delete { .. });
                    let modified = if deleted { Revision::ZERO } else { *revision };
                    self.known.insert(operation.key().clone(), modified);
                }
            }
            StoreCall::Txn(
                txn,
                Decision::Decided(Outcome::Conflict { condition, current, .. }),
            ) => {
                let modified = current.as_ref().map(|entry| entry.modified).unwrap_or_default();
                self.known.insert(txn.conditions[*condition].key().clone(), modified);
            }
            StoreCall::Txn(..) => {}
        }
    }

    /// Repeats a write and a read through this node until both succeed; a violation when they do
    /// not in time.
    async fn insist(&mut self, node: u64, deadline: Duration) {
        let (mut written, mut read) = (false, false);
        while !(written && read) {
            if turmoil::elapsed() > deadline {
                let client = self.writer.client;
                let what = if written { "read" } else { "write" };
                let text = format!(
                    "liveness: node {node} gives client {client} no {what} {HEALING:?} after the faults"
                );
                return self.writer.progress.violation(text);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            if !matches!(&self.session, Some((current, _)) if *current == node) {
                self.session = self.connect(node).await;
            }
            let ask = if written {
                GatewayRequest::Read(vec![self.shared_key()])
            } else {
                GatewayRequest::Txn(self.create())
            };
            let done = self.ask_here(ask).await;
            (written, read) = (written || done, written && done);
        }
    }
}
