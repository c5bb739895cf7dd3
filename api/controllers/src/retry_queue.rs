//! Objects for which a controller cannot do yet what it should, because something is wrong with them or missing: they hold up no
//! others, and are looked at again after a rest that becomes longer each time, or when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::context::is_of_object;
use quorate_registry::error::Error;

/// How long an object rests the first time; twice as long each further time.
const FIRST_REST: Duration = Duration::from_secs(10);
/// No rest is longer.
const LONGEST_REST: Duration = Duration::from_secs(120);

/// The objects, as their controller names them. Whoever puts one off says [`Later::done`] of it one day, also when it has gone.
#[derive(Debug)]
pub(super) struct Later<K> {
    rests: BTreeMap<K, Rest>,
    due: BTreeSet<(Instant, K)>,
}

/// How an object rests, or has rested if it is being looked at.
#[derive(Debug, Clone, Copy)]
struct Rest {
    length: Duration,
    until: Instant,
}

impl<K> Default for Later<K> {
    fn default() -> Self {
        Self { rests: BTreeMap::new(), due: BTreeSet::new() }
    }
}

impl<K: Ord + Clone + Debug> Later<K> {
    /// Puts an object off if what went wrong is about it alone; gives back any other error.
    pub(super) fn settle(&mut self, object: K, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Ok(()) => self.done(&object),
            Err(error) if is_of_object(&error) => {
                tracing::warn!(%error, ?object, "a controller cannot do its work on an object, and goes on with the others");
                self.put_off(object);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Lets an object rest.
    pub(super) fn put_off(&mut self, object: K) {
        let last = self.forget(&object);
        let length = last.map_or(FIRST_REST, |last| LONGEST_REST.min(last.length * 2));
        let until = Instant::now() + length;
        self.rests.insert(object.clone(), Rest { length, until });
        self.due.insert((until, object));
    }

    /// Forgets an object with which everything is well.
    pub(super) fn done(&mut self, object: &K) {
        self.forget(object);
    }

    fn forget(&mut self, object: &K) -> Option<Rest> {
        let (object, rest) = self.rests.remove_entry(object)?;
        self.due.remove(&(rest.until, object));
        Some(rest)
    }

    /// Those whose rest is over; waits for ever while there are none. Nothing is lost when nobody waits any more.
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
        let (mut later, begun) = (Later::default(), Instant::now());
        let wrong = || Err(Status::bad_request("no").into());
        let seconds = |count: u64| Duration::from_secs(count);
        for object in ["b", "a", "b", "d"] {
            later.settle(object, wrong()).unwrap();
        }
        later.settle("c", Ok(())).unwrap();
        later.settle("d", Ok(())).unwrap();
        later.settle("e", Err(Status::service_unavailable("not now").into())).unwrap_err();
        assert_eq!((later.due().await, begun.elapsed()), (vec!["a"], seconds(10)));
        assert_eq!((later.due().await, begun.elapsed()), (vec!["b"], seconds(20)));
        for _ in 0..5 {
            later.settle("a", wrong()).unwrap();
            later.due().await;
        }
        assert_eq!(begun.elapsed(), seconds(20 + 20 + 40 + 80 + 120 + 120));
        later.settle("a", Ok(())).unwrap();
        assert!(tokio::time::timeout(2 * LONGEST_REST, later.due()).await.is_err());
        later.put_off("a");
        assert_eq!((later.due().await, later.rests["a"].length), (vec!["a"], FIRST_REST));
    }
}
