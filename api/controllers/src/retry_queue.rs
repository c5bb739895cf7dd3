//! The retry queue of a controller: objects whose reconciliation has failed, each with a back-off
//! that doubles.
//!
//! Invariant: an object that fails delays no other one. A change of the object is reconciled at
//! once, whatever its back-off.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::context::is_object_error;
use quorate_registry::error::Error;

/// The back-off after the first failure; it doubles with each further one.
const MIN_BACK_OFF: Duration = Duration::from_secs(10);
/// The longest back-off.
const MAX_BACK_OFF: Duration = Duration::from_secs(120);

/// The objects, as their controller names them. The controller calls [`RetryQueue::forget`] for
/// each that it has backed off, also when the object is gone.
#[derive(Debug)]
pub(super) struct RetryQueue<K> {
    back_offs: BTreeMap<K, BackOff>,
    due: BTreeSet<(Instant, K)>,
}

/// The back-off of an object: that which runs, or the last one while the object is reconciled.
#[derive(Debug, Clone, Copy)]
struct BackOff {
    length: Duration,
    until: Instant,
}

impl<K> Default for RetryQueue<K> {
    fn default() -> Self {
        Self { back_offs: BTreeMap::new(), due: BTreeSet::new() }
    }
}

impl<K: Ord + Clone + Debug> RetryQueue<K> {
    /// Backs an object off if the error is about it alone, forgets it after a success, and returns
    /// any other error.
    pub(super) fn record(&mut self, object: K, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Ok(()) => self.forget(&object),
            Err(error) if is_object_error(&error) => {
                tracing::warn!(%error, ?object, "a controller cannot do its work on an object, and goes on with the others");
                self.back_off(object);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Backs an object off.
    pub(super) fn back_off(&mut self, object: K) {
        let last = self.remove(&object);
        let length = last.map_or(MIN_BACK_OFF, |last| MAX_BACK_OFF.min(last.length * 2));
        let until = Instant::now() + length;
        self.back_offs.insert(object.clone(), BackOff { length, until });
        self.due.insert((until, object));
    }

    /// Removes an object that was reconciled or is gone.
    pub(super) fn forget(&mut self, object: &K) {
        self.remove(object);
    }

    fn remove(&mut self, object: &K) -> Option<BackOff> {
        let (object, back_off) = self.back_offs.remove_entry(object)?;
        self.due.remove(&(back_off.until, object));
        Some(back_off)
    }

    /// The objects whose back-off is over; waits for ever while there are none. Safe to cancel.
    pub(super) async fn due(&mut self) -> Vec<K> {
        match self.due.first() {
            Some((until, _)) => sleep_until(*until).await,
            None => pending().await,
        }
        let (now, mut found) = (Instant::now(), Vec::new());
        while self.due.first().is_some_and(|(until, _)| *until <= now) {
            found.extend(self.due.pop_first().map(|(_, object)| object));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Status;

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_with_one_object_is_tried_again_ever_less_often() {
        let (mut retries, begun) = (RetryQueue::default(), Instant::now());
        let wrong = || Err(Status::bad_request("no").into());
        let seconds = |count: u64| Duration::from_secs(count);
        for object in ["b", "a", "b", "d"] {
            retries.record(object, wrong()).unwrap();
        }
        retries.record("c", Ok(())).unwrap();
        retries.record("d", Ok(())).unwrap();
        retries.record("e", Err(Status::service_unavailable("not now").into())).unwrap_err();
        assert_eq!((retries.due().await, begun.elapsed()), (vec!["a"], seconds(10)));
        assert_eq!((retries.due().await, begun.elapsed()), (vec!["b"], seconds(20)));
        for _ in 0..5 {
            retries.record("a", wrong()).unwrap();
            retries.due().await;
        }
        assert_eq!(begun.elapsed(), seconds(20 + 20 + 40 + 80 + 120 + 120));
        retries.record("a", Ok(())).unwrap();
        assert!(tokio::time::timeout(2 * MAX_BACK_OFF, retries.due()).await.is_err());
        retries.back_off("a");
        assert_eq!((retries.due().await, retries.back_offs["a"].length), (vec!["a"], MIN_BACK_OFF));
    }
}
