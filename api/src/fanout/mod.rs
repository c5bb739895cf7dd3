//! The fan-out of watch events: encodings of single events, shared by all watchers that want an
//! event in the same form, of whole runs of them, shared by those that are at the same place of the
//! same collection, and of the state that comes first, shared by those that begin together.
//!
//! Every watcher has its own cursor in the store's changes and asks here for the bytes of an event,
//! or for what follows a change; the first one makes them. Invariants: bounded in bytes, oldest
//! first out; what is not here is simply made again, so nothing depends on it. With a single
//! watcher nothing is kept, because no other would ask for it.

mod beat;
mod initial;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use initial::InitialStates;
use parking_lot::Mutex;
use quorate_store::Revision;

pub(crate) use beat::Beat;
pub(crate) use initial::{InitialChunk, InitialKey, InitialReader};

/// Bytes of encodings that are kept, all shards together.
const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of runs that are kept: watchers that wake together come for them within a moment.
const KEPT_RUN_BYTES: usize = 4 * 1024 * 1024;
/// Independent parts, so that watchers of different revisions do not wait for each other.
const SHARDS: usize = 16;

/// What tells one encoding from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EventKey {
    /// The transaction.
    pub(crate) revision: Revision,
    /// The object's key.
    pub(crate) key: Bytes,
    /// `ADDED`, ...: the same change is different events to different selectors.
    pub(crate) kind: &'static str,
    /// The form: see `Renderer::variant`.
    pub(crate) variant: Arc<str>,
}

/// What tells one run of events from another: the events of the transactions from `start` on, as
/// far as they touch a collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RunKey {
    /// What the keys of the collection start with.
    pub(crate) prefix: Bytes,
    /// The first transaction.
    pub(crate) start: Revision,
    /// The form: see `Renderer::variant`.
    pub(crate) variant: Arc<str>,
}

/// All events of some transactions that follow each other, as they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) lines: Bytes,
    /// The bytes of each line.
    pub(crate) sizes: Arc<[u32]>,
    /// The last transaction.
    pub(crate) end: Revision,
}

/// The shared encodings.
#[derive(Debug, Default)]
pub(crate) struct Fanout {
    beat: Beat,
    watchers: AtomicUsize,
    events: [Mutex<Kept<EventKey, Bytes>>; SHARDS],
    runs: Mutex<Kept<RunKey, Run>>,
    initial: Arc<Mutex<InitialStates>>,
}

/// Encodings that are kept until newer ones need the room.
#[derive(Debug)]
struct Kept<K, V> {
    /// By key, with their bytes.
    entries: HashMap<K, (V, usize)>,
    order: VecDeque<K>,
    bytes: usize,
}

/// A watcher's share in the fan-out; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watcher(Arc<Fanout>);

impl Fanout {
    /// Announces a watcher.
    pub(crate) fn join(self: &Arc<Self>) -> Watcher {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        Watcher(self.clone())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watcher {
    /// What busy watches keep, so that they go on together.
    pub(crate) fn beat(&self) -> &Beat {
        &self.0.beat
    }

    /// The bytes of an event, made by the first watcher that asks.
    pub(crate) fn share<E>(
        &self,
        key: EventKey,
        make: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if self.is_alone() {
            return make();
        }
        let shard =
            &self.0.events[usize::try_from(key.revision.get()).unwrap_or_default() % SHARDS];
        let mut shard = shard.lock();
        if let Some(bytes) = shard.get(&key) {
            return Ok(bytes);
        }
        let bytes = make()?;
        shard.keep(key, bytes.clone(), bytes.len(), KEPT_BYTES / SHARDS);
        Ok(bytes)
    }

    /// The run that another watcher has made from here.
    pub(crate) fn run(&self, key: &RunKey) -> Option<Run> {
        if self.is_alone() { None } else { self.0.runs.lock().get(key) }
    }

    /// Keeps a run for the others.
    pub(crate) fn keep_run(&self, key: RunKey, run: Run) {
        if !self.is_alone() {
            let bytes = run.lines.len();
            self.0.runs.lock().keep(key, run, bytes, KEPT_RUN_BYTES);
        }
    }

    fn is_alone(&self) -> bool {
        self.0.watchers.load(Ordering::Relaxed) < 2
    }
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), bytes: 0 }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Kept<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).map(|(value, _)| value.clone())
    }

    /// Keeps a value of this many bytes, and forgets the oldest ones until there are no more than
    /// `most`. What is there stays as it is.
    fn keep(&mut self, key: K, value: V, bytes: usize, most: usize) {
        if self.entries.contains_key(&key) {
            return;
        }
        self.bytes += bytes;
        self.order.push_back(key.clone());
        self.entries.insert(key, (value, bytes));
        while self.bytes > most {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.bytes -= self.entries.remove(&oldest).map_or(0, |(_, bytes)| bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(revision: u64, kind: &'static str) -> EventKey {
        EventKey {
            revision: Revision::new(revision),
            key: Bytes::from_static(b"k"),
            kind,
            variant: "v1 X".into(),
        }
    }

    #[test]
    fn an_event_is_encoded_once_for_all() {
        let fanout = Arc::new(Fanout::default());
        let (first, second) = (fanout.join(), fanout.join());
        let mut made = 0;
        for (watcher, kind) in [(&first, "ADDED"), (&second, "ADDED"), (&second, "DELETED")] {
            let bytes = watcher.share(key(1, kind), || -> Result<_, ()> {
                made += 1;
                Ok(Bytes::from_static(kind.as_bytes()))
            });
            assert_eq!(bytes, Ok(Bytes::from_static(kind.as_bytes())));
        }
        assert_eq!(made, 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let fanout = Arc::new(Fanout::default());
        let (watcher, _other) = (fanout.join(), fanout.join());
        let large = Bytes::from(vec![0; KEPT_BYTES / SHARDS / 4]);
        for round in 0..100 {
            watcher
                .share(key(round * SHARDS as u64, "ADDED"), || Ok::<_, ()>(large.clone()))
                .unwrap();
        }
        let shard = fanout.events[0].lock();
        assert!(
            shard.bytes <= KEPT_BYTES / SHARDS
                && shard.entries.len() == 4
                && shard.order.len() == 4
        );
    }

    #[test]
    fn a_single_watcher_keeps_nothing() {
        let fanout = Arc::new(Fanout::default());
        let watcher = fanout.join();
        watcher.share(key(1, "ADDED"), || Ok::<_, ()>(Bytes::from_static(b"x"))).unwrap();
        watcher.keep_run(run_key("a/", 1), run(b"x", 1));
        assert!(fanout.events.iter().all(|shard| shard.lock().entries.is_empty()));
        assert!(fanout.runs.lock().entries.is_empty());
    }

    fn run_key(prefix: &'static str, start: u64) -> RunKey {
        RunKey { prefix: prefix.into(), start: Revision::new(start), variant: "v1 X".into() }
    }

    fn run(lines: &'static [u8], end: u64) -> Run {
        let sizes = [u32::try_from(lines.len()).unwrap()].into();
        Run { lines: Bytes::from_static(lines), sizes, end: Revision::new(end) }
    }

    #[test]
    fn a_run_is_found_by_a_watcher_at_its_start() {
        let fanout = Arc::new(Fanout::default());
        let (first, second) = (fanout.join(), fanout.join());
        first.keep_run(run_key("a/", 3), run(b"three, four", 4));
        first.keep_run(run_key("a/", 3), run(b"three, four, five", 5));
        assert_eq!(
            second.run(&run_key("a/", 3)),
            Some(run(b"three, four", 4)),
            "the first one is as good"
        );
        for other in [run_key("a/", 4), run_key("b/", 3)] {
            assert_eq!(second.run(&other), None);
        }
    }
}
