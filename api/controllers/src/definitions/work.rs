//! The definitions that are to be reconciled, by name.
//!
//! Invariants: a definition is queued once, however often it is added, and in the order in which
//! they came; what waits is added when its time has come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::group::is_of;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Work {
    queue: VecDeque<String>,
    queued: BTreeSet<String>,
    waiting: BTreeMap<String, Instant>,
    /// Definitions that did not get all of their names.
    conflicting: BTreeSet<String>,
}

impl Work {
    /// Queues a definition.
    pub(super) fn add(&mut self, name: &str) {
        self.waiting.remove(name);
        if self.queued.insert(name.to_owned()) {
            self.queue.push_back(name.to_owned());
        }
    }

    /// Queues a definition that has changed, and all of its group that may get a name from it.
    pub(super) fn changed(&mut self, name: &str) {
        self.add(name);
        let Some((_, group)) = name.split_once('.') else {
            return;
        };
        let others = self.conflicting.iter().filter(|other| is_of(other, group));
        let others: Vec<String> = others.cloned().collect();
        others.iter().for_each(|other| self.add(other));
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Option<String> {
        let name = self.queue.pop_front()?;
        self.queued.remove(&name);
        Some(name)
    }

    /// Queues a definition after a while.
    pub(super) fn add_later(&mut self, name: &str, wait: Duration) {
        self.waiting.insert(name.to_owned(), Instant::now() + wait);
    }

    /// Notes whether a definition lacks names.
    pub(super) fn set_conflicting(&mut self, name: &str, is_conflicting: bool) {
        if is_conflicting {
            self.conflicting.insert(name.to_owned());
        } else {
            self.conflicting.remove(name);
        }
    }

    /// Queues those that have waited; waits for ever while there are none. Safe to cancel.
    pub(super) async fn due(&mut self) {
        match self.waiting.values().min() {
            Some(first) => sleep_until(*first).await,
            None => pending().await,
        }
        let now = Instant::now();
        let due: Vec<String> = self
            .waiting
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(name, _)| name.clone())
            .collect();
        due.iter().for_each(|name| self.add(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(work: &mut Work) -> Vec<String> {
        std::iter::from_fn(|| work.next()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_queued_once_and_those_that_lack_names_with_their_group() {
        let mut work = Work::default();
        ["b.x", "a.x", "b.x"].iter().for_each(|name| work.changed(name));
        assert_eq!(all(&mut work), ["b.x", "a.x"]);
        ["a.x", "c.x", "c.y"].iter().for_each(|name| work.set_conflicting(name, true));
        work.set_conflicting("c.x", false);
        work.changed("b.x");
        assert_eq!(all(&mut work), ["b.x", "a.x"]);
        let second = Duration::from_secs(1);
        work.add_later("b.x", 2 * second);
        work.add_later("a.x", second);
        work.due().await;
        assert_eq!(all(&mut work), ["a.x"]);
        work.add("b.x");
        assert_eq!(all(&mut work), ["b.x"]);
        assert!(tokio::time::timeout(9 * second, work.due()).await.is_err(), "it was added since");
    }
}
