//! A topic: a watched prefix, or what its values must have besides, as its watchers and the publisher
//! share it.
//!
//! The invariants are those of `hub`. Of a narrowed topic the newest revisions that touched it are
//! kept, so that a watcher goes from one to the next and passes over everything between.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::task::AtomicWaker;
use parking_lot::Mutex;

use crate::Revision;

/// Revisions that a narrowed topic keeps: a watcher that is further behind looks through the ring.
const KEPT_TOUCHES: usize = 64;

/// A watched prefix, narrowed or not.
#[derive(Debug)]
pub(super) struct Topic {
    touched: AtomicU64,
    parked: Mutex<Vec<Arc<Cell>>>,
    /// Of narrowed topics only.
    touches: Option<Mutex<Touches>>,
}

/// The newest revisions that touched a topic, ascending.
#[derive(Debug)]
struct Touches {
    /// All touches after this revision are kept.
    after: Revision,
    kept: VecDeque<Revision>,
}

/// A watcher as the publisher sees it.
#[derive(Debug, Default)]
pub(super) struct Cell {
    waker: AtomicWaker,
    /// The first revision that touched the topic since the watcher parked; 0 when that is not
    /// known.
    woken_by: AtomicU64,
}

impl Topic {
    /// A topic that may have been touched by everything up to `touched`.
    pub(super) fn new(touched: Revision, narrowed: bool) -> Self {
        let touches = Touches { after: touched, kept: VecDeque::new() };
        Self {
            touched: AtomicU64::new(touched.get()),
            parked: Mutex::default(),
            touches: narrowed.then(|| Mutex::new(touches)),
        }
    }

    /// See the invariants of `hub`.
    pub(super) fn touched(&self) -> Revision {
        Revision::new(self.touched.load(Ordering::Acquire))
    }

    /// The first revision after `cursor` that touched the topic; `None` when that is not known.
    pub(super) fn next_touch(&self, cursor: Revision) -> Option<Revision> {
        let touches = self.touches.as_ref()?.lock();
        if cursor < touches.after {
            return None;
        }
        let next = touches.kept.partition_point(|revision| *revision <= cursor);
        touches.kept.get(next).copied()
    }

    /// A transaction touches the topic.
    pub(super) fn touch(&self, revision: Revision) {
        if let Some(touches) = &self.touches {
            let mut touches = touches.lock();
            if touches.kept.back() != Some(&revision) {
                touches.kept.push_back(revision);
            }
            if touches.kept.len() > KEPT_TOUCHES
                && let Some(oldest) = touches.kept.pop_front()
            {
                // A topic may be made while older changes are still to be announced.
                touches.after = touches.after.max(oldest);
            }
        }
        self.touched.fetch_max(revision.get(), Ordering::AcqRel);
    }

    /// Everything up to a revision may have touched the topic.
    pub(super) fn touch_all(&self, revision: Revision) {
        if let Some(touches) = &self.touches {
            *touches.lock() = Touches { after: revision, kept: VecDeque::new() };
        }
        self.touched.fetch_max(revision.get(), Ordering::AcqRel);
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

    pub(super) fn unpark(&self, cell: &Arc<Cell>) {
        let mut parked = self.parked.lock();
        if let Some(index) = parked.iter().position(|other| Arc::ptr_eq(other, cell)) {
            parked.swap_remove(index);
        }
    }

    /// Wakes all parked watchers: a revision touched the topic.
    pub(super) fn wake(&self, revision: Revision) {
        let cells = {
            let mut parked = self.parked.lock();
            parked.iter().for_each(|cell| cell.woken_by.store(revision.get(), Ordering::Release));
            std::mem::take(&mut *parked)
        };
        cells.iter().for_each(|cell| cell.waker.wake());
    }

    #[cfg(test)]
    pub(super) fn parked_count(&self) -> usize {
        self.parked.lock().len()
    }
}

/// In place of a revision: the watcher is in its topic's list and nothing has touched the topic
/// since.
const PARKED: u64 = u64::MAX;

impl Cell {
    /// Wakes this task from now on.
    pub(super) fn register(&self, waker: &std::task::Waker) {
        self.waker.register(waker);
    }

    /// Nothing touched the topic between the last parking and this revision, the revision
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

    #[test]
    fn narrowed_topics_know_what_comes_next() {
        let check = |narrowed: bool, touches: &[u64], cursor: u64, expect: Option<u64>| {
            let topic = Topic::new(Revision::new(5), narrowed);
            touches.iter().for_each(|revision| topic.touch(Revision::new(*revision)));
            let next = topic.next_touch(Revision::new(cursor)).map(Revision::get);
            assert_eq!(next, expect, "{touches:?} after {cursor}");
        };
        check(true, &[8, 8, 11], 5, Some(8));
        check(true, &[8, 8, 11], 8, Some(11));
        check(true, &[8, 11], 11, None);
        check(true, &[8, 11], 4, None);
        check(false, &[8, 11], 5, None);
        let many: Vec<u64> = (10..).step_by(10).take(KEPT_TOUCHES + 2).collect();
        check(true, &many, 19, None);
        check(true, &many, 20, Some(30));
        check(true, &many, 21, Some(30));
        let early: Vec<u64> = (2..4).chain(6..).take(KEPT_TOUCHES + 1).collect();
        check(true, &early, 3, None);
        check(true, &early, 5, Some(6));
    }

    #[test]
    fn after_a_reset_nothing_is_known_of_what_was_before() {
        let topic = Topic::new(Revision::ZERO, true);
        topic.touch(Revision::new(3));
        topic.touch_all(Revision::new(9));
        topic.touch(Revision::new(12));
        let next = |cursor| topic.next_touch(Revision::new(cursor)).map(Revision::get);
        assert_eq!((next(1), next(8), next(9)), (None, None, Some(12)));
        assert_eq!(topic.touched(), Revision::new(12));
    }
}
