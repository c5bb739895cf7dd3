//! The store of a member that lags behind a leader. It takes over what the leader has committed when
//! a test says so, change by change or as a snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_store::{
    Batch, Error, History, HistoryError, Layer, MemoryStore, Revision, Serving, ServingOptions,
    Snapshot, State, Status, Store, Watch,
};

/// Batches that the history gives at a time.
const CHUNK: usize = 64;

/// The member.
#[derive(Debug)]
pub(crate) struct Follower {
    leader: Arc<MemoryStore>,
    state: Mutex<State>,
    history: Arc<KeptHistory>,
    serving: Serving,
}

#[derive(Debug, Default)]
struct KeptHistory(Mutex<(Revision, Vec<Arc<Batch>>)>);

impl Follower {
    /// An empty one.
    pub(crate) fn new(leader: Arc<MemoryStore>) -> Self {
        let (state, history) = (State::new(), Arc::<KeptHistory>::default());
        // A small ring, so that what lags has to read history.
        let options = ServingOptions { ring_bytes: 16 << 10, ..ServingOptions::default() };
        let serving = Serving::new(state.snapshot(), [], history.clone(), options);
        Self { leader, state: Mutex::new(state), history, serving }
    }

    /// Applies all that the leader has committed.
    pub(crate) fn catch_up(&self) {
        let mut state = self.state.lock();
        for batch in self.missing() {
            for event in &*batch.events {
                state.replay(event);
            }
            *state = std::mem::take(&mut *state).arrived_at(batch.revision, batch.time_ms);
            self.history.0.lock().1.push(batch.clone());
            self.serving.publish(state.snapshot(), &[batch]);
        }
    }

    /// Installs a snapshot of the leader, with all changes that are missing or with none at all.
    pub(crate) fn install(&self, with_history: bool) {
        let (mut state, missing) = (self.state.lock(), self.missing());
        let Some(newest) = missing.last() else { return };
        let installed = self.leader.snapshot();
        let entries = installed.range(b"", None).map(|(key, entry)| (key.clone(), entry.clone()));
        *state = State::restore(newest.revision, newest.time_ms, entries);
        assert_eq!(state.snapshot().digest(), installed.digest());
        if with_history {
            self.history.0.lock().1.extend(missing);
        } else {
            *self.history.0.lock() = (newest.revision, Vec::new());
        }
        self.serving.reset(state.snapshot());
    }

    fn missing(&self) -> Vec<Arc<Batch>> {
        let after = self.serving.revision();
        let mut watch = self.leader.watch(Bytes::new(), after).expect("the leader keeps it");
        let missing = std::iter::from_fn(|| watch.try_next().expect("the leader keeps it"));
        missing.map(|found| found.batch().clone()).collect()
    }
}

impl History for KeptHistory {
    fn oldest(&self) -> Revision {
        self.0.lock().0
    }

    fn read(&self, after: Revision, _: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let kept = self.0.lock();
        let Some(skip) = after.get().checked_sub(kept.0.get()) else {
            return Err(HistoryError::Compacted { oldest: kept.0 });
        };
        Ok(kept.1.iter().skip(skip as usize).take(CHUNK).cloned().collect())
    }
}

#[async_trait]
impl Layer for Follower {
    fn below(&self) -> &dyn Store {
        &*self.leader
    }

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

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.serving.watch(prefix, after)
    }

    fn status(&self) -> Status {
        let (applied, oldest) = (self.serving.revision(), self.serving.oldest());
        Status { applied, oldest, ..self.leader.status() }
    }
}
