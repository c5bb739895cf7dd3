//! The work queue of the garbage collector: each object is queued once, however often it is added,
//! and never processed twice at the same time; one that fails is queued again after a back-off that
//! doubles.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::time::Instant;

use super::graph::ObjectKey;
use crate::context::RETRY_PERIOD;

/// How often the back-off of an object that fails doubles.
const MAX_DOUBLINGS: u32 = 6;

/// The state of an object in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemState {
    Queued,
    Processing,
    /// Being processed, and added again meanwhile.
    ProcessingAgain,
}

/// The queue. Bounded by the number of objects that have owners or are being deleted.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    waiting: VecDeque<ObjectKey>,
    states: HashMap<ObjectKey, ItemState>,
    backing_off: BTreeMap<Instant, Vec<ObjectKey>>,
    /// Failures of an object since its last success.
    failures: HashMap<ObjectKey, u32>,
}

impl WorkQueue {
    /// Adds an object.
    pub(super) fn add(&mut self, key: ObjectKey) {
        match self.states.get_mut(&key) {
            Some(ItemState::Queued | ItemState::ProcessingAgain) => {}
            Some(state @ ItemState::Processing) => *state = ItemState::ProcessingAgain,
            None => {
                self.states.insert(key.clone(), ItemState::Queued);
                self.waiting.push_back(key);
            }
        }
    }

    /// The next object; it is being processed until [`WorkQueue::done`] or [`WorkQueue::failed`].
    pub(super) fn next(&mut self) -> Option<ObjectKey> {
        let key = self.waiting.pop_front()?;
        self.states.insert(key.clone(), ItemState::Processing);
        Some(key)
    }

    /// How many objects wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Ends the work on an object.
    pub(super) fn done(&mut self, key: &ObjectKey) {
        self.failures.remove(key);
        self.finish(key);
    }

    /// Ends the work on an object that failed: it is queued after its back-off, or at once if it
    /// was added again.
    pub(super) fn failed(&mut self, key: &ObjectKey, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        let back_off = RETRY_PERIOD * 2_u32.pow((*failures).min(MAX_DOUBLINGS));
        *failures += 1;
        if !self.finish(key) {
            self.backing_off.entry(now + back_off).or_default().push(key.clone());
        }
    }

    /// It is not being processed any more. True if it was added meanwhile, and is queued.
    fn finish(&mut self, key: &ObjectKey) -> bool {
        let is_queued_again = self.states.remove(key) == Some(ItemState::ProcessingAgain);
        if is_queued_again {
            self.add(key.clone());
        }
        is_queued_again
    }

    /// When the next failed object is due.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.backing_off.keys().next().copied()
    }

    /// Queues every failed object whose back-off is over.
    pub(super) fn retry(&mut self, now: Instant) {
        while let Some(first) = self.backing_off.first_entry()
            && *first.key() <= now
        {
            first.remove().into_iter().for_each(|key| self.add(key));
        }
    }

    /// Whether nothing is queued; objects may still be being processed.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const A: ObjectKey = ObjectKey::from_static(b"a");
    const B: ObjectKey = ObjectKey::from_static(b"b");

    #[tokio::test(start_paused = true)]
    async fn an_object_waits_once_and_runs_once_at_a_time() {
        let mut queue = WorkQueue::default();
        [A, B, A].into_iter().for_each(|key| queue.add(key));
        assert_eq!((queue.next(), queue.next(), queue.next()), (Some(A), Some(B), None));
        queue.add(A);
        queue.add(A);
        assert_eq!(queue.next(), None, "it is still under way");
        queue.done(&B);
        queue.failed(&A, Instant::now());
        assert_eq!((queue.next(), queue.next(), queue.retry_at()), (Some(A), None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_comes_back_later_each_time() {
        let (mut queue, start) = (WorkQueue::default(), Instant::now());
        let mut check = |expect: Duration| {
            queue.add(A);
            assert_eq!(queue.next(), Some(A));
            queue.failed(&A, start);
            let due = start + expect;
            queue.retry(due - Duration::from_millis(1));
            assert_eq!((queue.is_empty(), queue.retry_at()), (true, Some(due)));
            queue.retry(due);
            assert_eq!((queue.next(), queue.retry_at()), (Some(A), None));
            queue.finish(&A);
        };
        [1, 2, 4, 8, 16, 32, 64, 64].into_iter().for_each(|times| check(RETRY_PERIOD * times));
        queue.add(A);
        queue.next();
        queue.done(&A);
        queue.add(A);
        queue.next();
        queue.failed(&A, start);
        assert_eq!(queue.retry_at(), Some(start + RETRY_PERIOD));
    }
}
