//! Objects with which something is wrong, so that a controller cannot do for them what it should: they hold up no others, and are
//! looked at again after a rest, or when they change.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::context::is_of_object;
use crate::error::Error;

/// How long the first of them rests, and the others with it.
const REST: Duration = Duration::from_secs(30);

/// The objects, as their controller names them.
#[derive(Debug)]
pub(super) struct Later<K> {
    objects: BTreeSet<K>,
    due: Option<Instant>,
}

impl<K> Default for Later<K> {
    fn default() -> Self {
        Self { objects: BTreeSet::new(), due: None }
    }
}

impl<K: Ord + Debug> Later<K> {
    /// Puts an object off if what went wrong is about it alone; gives back any other error.
    pub(super) fn settle(&mut self, object: K, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error) if is_of_object(&error) => {
                tracing::warn!(%error, ?object, "a controller cannot do its work on an object, and goes on with the others");
                self.objects.insert(object);
                self.due.get_or_insert_with(|| Instant::now() + REST);
                Ok(())
            }
            done => done,
        }
    }

    /// Those whose rest is over; waits for ever while there are none. Nothing is lost when nobody waits any more.
    pub(super) async fn due(&mut self) -> Vec<K> {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
        self.due = None;
        std::mem::take(&mut self.objects).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Status;

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_with_one_object_is_tried_again_later() {
        let mut later = Later::default();
        let begun = Instant::now();
        for object in ["b", "a", "b"] {
            later.settle(object, Err(Status::bad_request("no").into())).unwrap();
        }
        later.settle("c", Ok(())).unwrap();
        later.settle("d", Err(Status::service_unavailable("not now").into())).unwrap_err();
        assert_eq!((later.due().await, begun.elapsed()), (vec!["a", "b"], REST));
        assert!(tokio::time::timeout(2 * REST, later.due()).await.is_err());
    }
}
