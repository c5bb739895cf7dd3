//! The watch hub: finds the watched prefixes that a change touches and wakes their watchers only.
//!
//! A topic stands for a watched prefix and is shared by all its watchers. Invariants:
//! - A topic's `touched` is at least the newest announced revision that changed a key with its
//!   prefix; when it is at most a watcher's cursor, nothing up to the announced revision concerns
//!   this watcher. It may err upward (costing a scan).
//! - A watcher parks only while `touched` is at most its cursor, checked under the topic's lock,
//!   which the publisher takes after raising `touched`: no wake-up is lost.
//! - Waking a parked watcher gives it the first revision that touched its prefix since it parked,
//!   so that a watcher that was parked for hours goes on from there and not from where it parked.
//!
//! The table's lock is held for a few tree look-ups by the publisher, and for an insertion by a
//! reader that starts a watch.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::task::AtomicWaker;
use parking_lot::Mutex;

use crate::{Batch, Revision};

#[derive(Debug)]
pub(super) struct Hub {
    table: Mutex<BTreeMap<Bytes, Registered>>,
    announced: AtomicU64,
}

#[derive(Debug)]
struct Registered {
    topic: Arc<Topic>,
    watchers: usize,
}

/// A watched prefix.
#[derive(Debug)]
pub(super) struct Topic {
    touched: AtomicU64,
    parked: Mutex<Vec<Arc<Cell>>>,
}

/// A watcher as the publisher sees it.
#[derive(Debug, Default)]
pub(super) struct Cell {
    waker: AtomicWaker,
    /// The first revision that touched the prefix since the watcher parked; 0 when that is not
    /// known.
    woken_by: AtomicU64,
}

impl Hub {
    pub(super) fn new(announced: Revision) -> Self {
        Self { table: Mutex::default(), announced: AtomicU64::new(announced.get()) }
    }

    /// Everything up to here is in the view and has been registered with the topics.
    pub(super) fn announced(&self) -> Revision {
        Revision::new(self.announced.load(Ordering::Acquire))
    }

    /// Adds a watcher of the prefix. `newest` gives the view's revision and is asked under the
    /// table's lock: a batch that is published later finds the topic, one that was published
    /// earlier is covered by `newest`.
    pub(super) fn join(&self, prefix: &Bytes, newest: impl FnOnce() -> Revision) -> Arc<Topic> {
        let mut table = self.table.lock();
        if let Some(registered) = table.get_mut(prefix) {
            registered.watchers += 1;
            return Arc::clone(&registered.topic);
        }
        let topic =
            Arc::new(Topic { touched: AtomicU64::new(newest().get()), parked: Mutex::default() });
        table.insert(prefix.clone(), Registered { topic: Arc::clone(&topic), watchers: 1 });
        topic
    }

    /// Removes a watcher that joined.
    pub(super) fn leave(&self, prefix: &Bytes, topic: &Topic, cell: &Arc<Cell>) {
        topic.unpark(cell);
        let mut table = self.table.lock();
        let registered = table.get_mut(prefix).expect("every watcher joined its topic");
        registered.watchers -= 1;
        if registered.watchers == 0 {
            table.remove(prefix);
        }
    }

    /// Registers the batches with the topics that they touch, announces the newest and wakes the
    /// watchers. The view shows the batches already.
    pub(super) fn publish(&self, batches: &[Arc<Batch>]) {
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else {
            return;
        };
        let touched = self.touch(first.revision, batches);
        self.announced.store(last.revision.get(), Ordering::Release);
        touched.iter().for_each(|(topic, revision)| topic.wake(*revision));
    }

    /// Everything may have changed and the state is of this revision now. The view shows it
    /// already.
    pub(super) fn reset(&self, revision: Revision) {
        let quiet = self.announced();
        let topics: Vec<_> =
            self.table.lock().values().map(|registered| Arc::clone(&registered.topic)).collect();
        topics.iter().for_each(|topic| topic.touch(revision));
        self.announced.fetch_max(revision.get(), Ordering::AcqRel);
        topics.iter().for_each(|topic| topic.wake(quiet.next()));
    }

    /// The touched topics, each with the first batch that touched it.
    fn touch(&self, first: Revision, batches: &[Arc<Batch>]) -> Vec<(Arc<Topic>, Revision)> {
        let mut touched = Vec::new();
        let table = self.table.lock();
        if table.is_empty() {
            return touched;
        }
        for batch in batches {
            for event in batch.events.iter() {
                each_prefix_of(&event.key, &table, |topic| {
                    if topic.touched() < first {
                        touched.push((Arc::clone(topic), batch.revision));
                    }
                    topic.touch(batch.revision);
                });
            }
        }
        touched
    }
}

/// Visits the topics whose prefix the key starts with, longest first.
///
/// Whatever lies between a prefix of the key and the key in byte order starts with this prefix too.
/// So the greatest entry up to the key either is a prefix of it, or shares with it everything that
/// a shorter match can have.
fn each_prefix_of(
    key: &[u8],
    table: &BTreeMap<Bytes, Registered>,
    mut visit: impl FnMut(&Arc<Topic>),
) {
    let mut upto = Bound::Included(key);
    while let Some((prefix, registered)) =
        table.range::<[u8], _>((Bound::Unbounded, upto)).next_back()
    {
        let common = key.iter().zip(prefix).take_while(|(a, b)| a == b).count();
        if common == prefix.len() {
            visit(&registered.topic);
            upto = Bound::Excluded(&key[..common]);
        } else {
            upto = Bound::Included(&key[..common]);
        }
    }
}

impl Topic {
    /// See the invariants above.
    pub(super) fn touched(&self) -> Revision {
        Revision::new(self.touched.load(Ordering::Acquire))
    }

    /// Parks a watcher that has seen everything up to `cursor`; false when there is news for it
    /// already.
    pub(super) fn park(&self, cell: &Arc<Cell>, cursor: Revision) -> bool {
        let mut parked = self.parked.lock();
        if self.touched() > cursor {
            return false;
        }
        if cell.woken_by.swap(PARKED, Ordering::AcqRel) != PARKED {
            parked.push(Arc::clone(cell));
        }
        true
    }

    fn unpark(&self, cell: &Arc<Cell>) {
        let mut parked = self.parked.lock();
        if let Some(index) = parked.iter().position(|other| Arc::ptr_eq(other, cell)) {
            parked.swap_remove(index);
        }
    }

    fn touch(&self, revision: Revision) {
        self.touched.fetch_max(revision.get(), Ordering::AcqRel);
    }

    fn wake(&self, revision: Revision) {
        let cells = {
            let mut parked = self.parked.lock();
            parked.iter().for_each(|cell| cell.woken_by.store(revision.get(), Ordering::Release));
            std::mem::take(&mut *parked)
        };
        cells.iter().for_each(|cell| cell.waker.wake());
    }
}

/// In place of a revision: the watcher is in its topic's list and nothing has touched the prefix
/// since.
const PARKED: u64 = u64::MAX;

impl Cell {
    /// Wakes this task from now on.
    pub(super) fn register(&self, waker: &std::task::Waker) {
        self.waker.register(waker);
    }

    /// Nothing touched the prefix between the last parking and this revision, the revision
    /// included.
    pub(super) fn quiet_until(&self) -> Revision {
        match self.woken_by.load(Ordering::Acquire) {
            PARKED => Revision::ZERO,
            revision => Revision::new(revision.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Event};

    #[test]
    fn finds_exactly_the_watched_prefixes_of_a_key() {
        let check = |watched: &[&'static str], key: &str, expect: &[&str]| {
            let hub = Hub::new(Revision::ZERO);
            let topics: Vec<_> = watched.iter().map(|prefix| join(&hub, prefix)).collect();
            hub.publish(&[batch(7, key)]);
            let found = watched.iter().zip(&topics).filter(|(_, topic)| topic.touched().get() == 7);
            assert_eq!(found.map(|(prefix, _)| *prefix).collect::<Vec<_>>(), expect, "{key}");
        };
        let all = ["", "o/", "o/a/", "o/a/b", "o/a/b/", "o/a/bz", "o/b/", "p/", "o/a/b/c/d/e"];
        check(&all, "o/a/b/c", &["", "o/", "o/a/", "o/a/b", "o/a/b/"]);
        check(&all, "o/a/bz", &["", "o/", "o/a/", "o/a/b", "o/a/bz"]);
        check(&all, "o/a", &["", "o/"]);
        check(&all, "z", &[""]);
        check(&["o/a/x", "o/a/y"], "o/a/z", &[]);
        check(&["x"], "a", &[]);
        check(&[], "a", &[]);
    }

    #[test]
    fn tells_a_sleeper_the_first_revision_that_concerns_it() {
        let hub = Hub::new(Revision::new(3));
        let topic = join(&hub, "a/");
        let cell = Arc::new(Cell::default());
        assert!(topic.park(&cell, Revision::new(3)));
        hub.publish(&[batch(4, "b/1"), batch(5, "a/1"), batch(6, "a/2")]);
        hub.publish(&[batch(7, "a/3")]);
        assert_eq!(cell.quiet_until(), Revision::new(4));
        assert!(!topic.park(&cell, Revision::new(6)));
        assert!(topic.park(&cell, Revision::new(7)));
        assert_eq!(hub.announced(), Revision::new(7));
    }

    #[test]
    fn topics_vanish_with_their_last_watcher() {
        let hub = Hub::new(Revision::ZERO);
        let (topic, cell) = (join(&hub, "a/"), Arc::new(Cell::default()));
        let same = join(&hub, "a/");
        assert!(Arc::ptr_eq(&topic, &same) && topic.park(&cell, Revision::ZERO));
        hub.leave(&Bytes::from_static(b"a/"), &topic, &cell);
        assert_eq!((hub.table.lock().len(), topic.parked.lock().len()), (1, 0));
        hub.leave(&Bytes::from_static(b"a/"), &same, &cell);
        assert!(hub.table.lock().is_empty());
    }

    fn join(hub: &Hub, prefix: &'static str) -> Arc<Topic> {
        hub.join(&Bytes::from_static(prefix.as_bytes()), || Revision::ZERO)
    }

    fn batch(revision: u64, key: &str) -> Arc<Batch> {
        let revision = Revision::new(revision);
        let entry = Entry { value: Bytes::new(), created: revision, modified: revision };
        let event = Event {
            key: Bytes::copy_from_slice(key.as_bytes()),
            current: Some(entry),
            previous: None,
        };
        Arc::new(Batch { revision, time_ms: 0, events: Arc::new([event]), origin: Bytes::new() })
    }
}
