//! Encodings of watch events, shared by all watchers that want an event in the same form.
//!
//! Every watcher has its own cursor in the store's changes and asks here for the bytes of an event; the first one makes
//! them. Invariants: bounded in bytes, oldest first out; what is not here is simply made again, so nothing depends on it.
//! With a single watcher nothing is kept, because nobody would come for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_store::Revision;
use tokio::time::Instant;

/// Bytes of encodings that are kept, all shards together.
const KEPT_BYTES: usize = 16 * 1024 * 1024;
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

/// The shared encodings.
#[derive(Debug)]
pub struct Fanout {
    beat: Instant,
    watchers: AtomicUsize,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    kept: HashMap<EventKey, Bytes>,
    order: VecDeque<EventKey>,
    bytes: usize,
}

/// A watcher's presence; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Fanout>);

impl Default for Fanout {
    fn default() -> Self {
        Self { beat: Instant::now(), watchers: AtomicUsize::default(), shards: Default::default() }
    }
}

impl Fanout {
    /// What busy watches count their pauses from, so that they go on together.
    pub(crate) fn beat(&self) -> Instant {
        self.beat
    }

    /// Announces a watcher.
    pub(crate) fn join(self: &Arc<Self>) -> Seat {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        Seat(self.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seat {
    /// The bytes of an event, made by the first watcher that asks.
    pub(crate) fn share<E>(&self, key: EventKey, make: impl FnOnce() -> Result<Bytes, E>) -> Result<Bytes, E> {
        if self.0.watchers.load(Ordering::Relaxed) < 2 {
            return make();
        }
        let shard = &self.0.shards[usize::try_from(key.revision.get()).unwrap_or_default() % SHARDS];
        let mut shard = shard.lock();
        if let Some(bytes) = shard.kept.get(&key) {
            return Ok(bytes.clone());
        }
        let bytes = make()?;
        shard.keep(key, bytes.clone());
        Ok(bytes)
    }
}

impl Shard {
    fn keep(&mut self, key: EventKey, bytes: Bytes) {
        self.bytes += bytes.len();
        self.order.push_back(key.clone());
        self.kept.insert(key, bytes);
        while self.bytes > KEPT_BYTES / SHARDS {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.kept.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(revision: u64, kind: &'static str) -> EventKey {
        EventKey { revision: Revision::new(revision), key: Bytes::from_static(b"k"), kind, variant: "v1 X".into() }
    }

    #[test]
    fn an_event_is_encoded_once_for_all() {
        let fanout = Arc::new(Fanout::default());
        let (first, second) = (fanout.join(), fanout.join());
        let mut made = 0;
        for (seat, kind) in [(&first, "ADDED"), (&second, "ADDED"), (&second, "DELETED")] {
            let bytes = seat.share(key(1, kind), || -> Result<_, ()> {
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
        let (seat, _other) = (fanout.join(), fanout.join());
        let large = Bytes::from(vec![0; KEPT_BYTES / SHARDS / 4]);
        for round in 0..100 {
            seat.share(key(round * SHARDS as u64, "ADDED"), || Ok::<_, ()>(large.clone())).unwrap();
        }
        let shard = fanout.shards[0].lock();
        assert!(shard.bytes <= KEPT_BYTES / SHARDS && shard.kept.len() == 4 && shard.order.len() == 4);
    }

    #[test]
    fn a_single_watcher_keeps_nothing() {
        let fanout = Arc::new(Fanout::default());
        let seat = fanout.join();
        seat.share(key(1, "ADDED"), || Ok::<_, ()>(Bytes::from_static(b"x"))).unwrap();
        assert!(fanout.shards.iter().all(|shard| shard.lock().kept.is_empty()));
    }
}
