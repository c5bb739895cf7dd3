//! [`MemoryStore`]: the state machine and the serving form under one lock.
//!
//! Invariant: a transaction is in the history, then published, then acknowledged, all under the
//! lock, so that revisions, history and views agree at every moment.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::history::MemoryHistory;
use super::past::MemoryPast;
use crate::{
    Error, HistoryError, Limits, NodeId, Outcome, Past, Retention, Revision, Serving,
    ServingOptions, Snapshot, State, Status, Store, Txn, Watch,
};
use quorate_env::Clock;

/// The only node.
const NODE: NodeId = 1;

/// How a memory store behaves.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Gives transactions their time.
    pub clock: Arc<dyn Clock>,
    /// What it refuses.
    pub limits: Limits,
    /// How much history it keeps.
    pub retention: Retention,
    /// How much memory serving takes.
    pub serving: ServingOptions,
}

impl MemoryOptions {
    /// The defaults of a real node.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            limits: Limits::default(),
            retention: Retention::default(),
            serving: ServingOptions::default(),
        }
    }
}

/// A [`Store`] in memory, empty at first.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    limits: Limits,
    state: Mutex<State>,
    history: Arc<MemoryHistory>,
    past: Arc<MemoryPast>,
    serving: Serving,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(options: MemoryOptions) -> Self {
        let MemoryOptions { clock, limits, retention, serving } = options;
        let state = State::new();
        let history = Arc::new(MemoryHistory::new(retention));
        let serving = Serving::new(state.snapshot(), [], history.clone(), serving);
        let past = Arc::default();
        Self { clock, limits, state: Mutex::new(state), history, past, serving }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn read_index(&self) -> Result<Revision, Error> {
        Ok(self.serving.revision())
    }

    fn snapshot(&self) -> Snapshot {
        self.serving.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.serving.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.serving.applied(at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let mut state = self.state.lock();
        self.limits.check(&txn, &state.snapshot())?;
        let applied = state.apply(self.clock.now_ms(), &txn);
        if let Some(batch) = applied.batch {
            self.history.push(Arc::clone(&batch));
            self.past.push(&batch);
            self.serving.publish(state.snapshot(), &[batch]);
        }
        Ok(applied.outcome)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.serving.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        Some(Arc::clone(&self.past) as Arc<dyn Past>)
    }

    fn status(&self) -> Status {
        Status {
            node: NODE,
            leader: Some(NODE),
            term: 0,
            applied: self.serving.revision(),
            lag: 0,
            oldest: self.serving.oldest(),
            size: self.serving.snapshot().size(),
            size_limit: self.limits.store_bytes,
        }
    }
}
