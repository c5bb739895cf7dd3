//! Indexes of collections by a label or a field, made when lists that select by it come again.
//!
//! Invariants: an index only spares looking at objects: what it gives is a superset of what has one
//! of the values, at every revision that it answers for, and each object is checked against the whole
//! selection. Where there is none, or it cannot answer, the collection is scanned. Their number and
//! their bytes are bounded, and those that are not used are forgotten. A write costs an index nothing:
//! it takes in what has changed when a list uses it.
//!
//! Not here: which part of a selection is looked up (`handlers::selected`).

mod built;
mod counts;
mod key;
mod options;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_registry::Resource;
use quorate_store::{Revision, Store};
use tokio::time::{Instant, sleep};

pub(crate) use built::BuiltIndex;
use built::{Progress, Unbuilt};
use counts::Counters;
pub(crate) use counts::SelectorIndexCounts;
use key::IndexKey;
pub(crate) use key::IndexedBy;
pub use options::SelectorIndexOptions;
use slots::{SlotState, Slots};

/// How often unused indexes are looked for.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60);
/// Steps that a list waits at most for an index to take in what it lacks.
const MAX_STEPS: usize = 128;

/// The indexes of a node.
#[derive(Debug, Default)]
pub(crate) struct SelectorIndexes {
    options: SelectorIndexOptions,
    slots: Mutex<Slots>,
    counters: Counters,
}

/// An index that a list may use, current at the list's revision.
#[derive(Debug, Clone)]
pub(crate) struct CurrentIndex {
    key: IndexKey,
    index: Arc<Mutex<BuiltIndex>>,
}

/// An index that a request makes. When the request ends before, it is as if it had not begun.
struct UnfinishedIndex<'a> {
    indexes: &'a SelectorIndexes,
    key: &'a IndexKey,
    done: bool,
}

impl SelectorIndexes {
    pub(crate) fn new(options: SelectorIndexOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(crate) fn options(&self) -> &SelectorIndexOptions {
        &self.options
    }

    /// The index of a resource's objects by a label or a field, if there is one that answers for a
    /// state.
    pub(crate) async fn current(
        &self,
        resource: &Resource,
        by: &IndexedBy,
        at: Revision,
    ) -> Option<CurrentIndex> {
        let key = IndexKey::new(resource, by);
        let index = self.slots.lock().ready(&key)?;
        for _ in 0..MAX_STEPS {
            let progress = index.lock().advance(at);
            match progress {
                Progress::Reached => return Some(CurrentIndex { key, index }),
                Progress::Behind => tokio::task::yield_now().await,
                Progress::TooOld => return None,
                Progress::Lost => {
                    let mut slots = self.slots.lock();
                    if slots.of_index(&key, &index).is_some() {
                        slots.remove(&key);
                    }
                    return None;
                }
            }
        }
        None
    }

    /// Says that a list would use an index which is not there. Makes it, and gives it, when lists have
    /// asked again and again.
    pub(crate) async fn ask(
        &self,
        store: &dyn Store,
        resource: &Resource,
        by: &IndexedBy,
        at: Revision,
    ) -> Option<CurrentIndex> {
        let key = IndexKey::new(resource, by);
        if !self.slots.lock().ask(&key, Instant::now()) {
            return None;
        }
        let mut unfinished = UnfinishedIndex { indexes: self, key: &key, done: false };
        let max_bytes = self.options.max_bytes;
        let built = BuiltIndex::build(store, &resource.prefix, by, max_bytes).await;
        Counters::add_one(if built.is_ok() {
            &self.counters.built
        } else {
            &self.counters.refused
        });
        let state = match built {
            Ok(built) => {
                let bytes = built.bytes();
                SlotState::Ready(Arc::new(Mutex::new(built)), bytes)
            }
            Err(Unbuilt::TooLarge) => SlotState::Refused,
            Err(Unbuilt::Compacted) => return None,
        };
        unfinished.done = true;
        {
            let mut slots = self.slots.lock();
            slots.set(&key, Instant::now(), state);
            slots.evict(max_bytes);
        }
        self.current(resource, by, at).await
    }

    /// A list has been looked up in an index, or would have been if there were one.
    pub(crate) fn used(&self, index: Option<&CurrentIndex>) {
        let Some(CurrentIndex { key, index }) = index else {
            return Counters::add_one(&self.counters.scanned);
        };
        Counters::add_one(&self.counters.used);
        let now_bytes = index.lock().bytes();
        let mut slots = self.slots.lock();
        let Some(slot) = slots.of_index(key, index) else { return };
        slot.used = Instant::now();
        slot.state = SlotState::Ready(index.clone(), now_bytes);
        slots.evict(self.options.max_bytes);
    }

    /// Forgets what is not used, as long as it is polled.
    pub(crate) async fn prune(&self) {
        loop {
            sleep(PRUNE_INTERVAL).await;
            self.slots.lock().prune(Instant::now());
        }
    }

    pub(crate) fn counts(&self) -> SelectorIndexCounts {
        let slots = self.slots.lock();
        let (indexes, bytes) = (slots.ready_count() as u64, slots.bytes() as u64);
        SelectorIndexCounts { indexes, bytes, ..self.counters.read() }
    }
}

impl CurrentIndex {
    pub(crate) fn lock(&self) -> parking_lot::MutexGuard<'_, BuiltIndex> {
        self.index.lock()
    }
}

impl Drop for UnfinishedIndex<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.indexes.slots.lock().remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests;
