//! The definitions that are to be reconciled, by name.
//!
//! Invariants: a definition is queued once, however often it is added, and in the order in which
//! they came; of one group only one is reconciled at a time; what waits is added when its time has
//! come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::time::Duration;

use quorate_store::Revision;
use tokio::time::{Instant, sleep_until};

use super::group::group_of;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Work {
    queue: VecDeque<String>,
    queued: BTreeSet<String>,
    waiting: BTreeMap<String, Instant>,
    /// The groups of which a definition is reconciled.
    busy: BTreeSet<String>,
    /// The revision that the controller left each definition at.
    settled: BTreeMap<String, Revision>,
    /// Definitions that did not get all of their names, by group.
    conflicting: BTreeMap<String, BTreeSet<String>>,
}

impl Work {
    /// Queues a definition.
    pub(super) fn add(&mut self, name: &str) {
        self.waiting.remove(name);
        if self.queued.insert(name.to_owned()) {
            self.queue.push_back(name.to_owned());
        }
    }

    /// Queues a definition that has changed, unless it is what the controller left, and all of its
    /// group that may get a name from it.
    pub(super) fn changed(&mut self, name: &str, at: Option<Revision>) {
        if at.is_none() {
            self.settled.remove(name);
        }
        if at.is_none() || self.settled.get(name) != at.as_ref() {
            self.add(name);
        }
        let others = self.conflicting.get(group(name)).cloned().unwrap_or_default();
        others.iter().for_each(|other| self.add(other));
    }

    /// Notes what the controller left a definition at. One that was observed in that state is not
    /// queued because of it.
    pub(super) fn settled(&mut self, name: &str, at: Revision, is_observed: bool) {
        self.settled.insert(name.to_owned(), at);
        let lacks_names = self.conflicting.get(group(name)).is_some_and(|all| all.contains(name));
        if is_observed && !lacks_names && self.queued.remove(name) {
            self.queue.retain(|other| other != name);
        }
    }

    /// Whether there may be a next one.
    pub(super) fn has_next(&self) -> bool {
        self.queue.iter().any(|name| !self.busy.contains(group(name)))
    }

    /// The next one of a group of which no other is reconciled; it is until it is released.
    pub(super) fn next(&mut self) -> Option<String> {
        let at = self.queue.iter().position(|name| !self.busy.contains(group(name)))?;
        let name = self.queue.remove(at)?;
        self.queued.remove(&name);
        self.busy.insert(group(&name).to_owned());
        Some(name)
    }

    /// Ends the reconciliation of a definition.
    pub(super) fn release(&mut self, name: &str) {
        self.busy.remove(group(name));
    }

    /// Queues a definition after a while.
    pub(super) fn add_later(&mut self, name: &str, wait: Duration) {
        self.waiting.insert(name.to_owned(), Instant::now() + wait);
    }

    /// Notes whether a definition lacks names.
    pub(super) fn set_conflicting(&mut self, name: &str, is_conflicting: bool) {
        let group = group(name);
        if is_conflicting {
            self.conflicting.entry(group.to_owned()).or_default().insert(name.to_owned());
        } else if let Some(conflicting) = self.conflicting.get_mut(group) {
            conflicting.remove(name);
            if conflicting.is_empty() {
                self.conflicting.remove(group);
            }
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

fn group(name: &str) -> &str {
    group_of(name).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that are queued, one after the other.
    fn all(work: &mut Work) -> Vec<String> {
        let next = || {
            let name = work.next()?;
            work.release(&name);
            Some(name)
        };
        std::iter::from_fn(next).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_queued_once_and_those_that_lack_names_with_their_group() {
        let mut work = Work::default();
        ["b.x", "a.x", "b.x"].iter().for_each(|name| work.changed(name, None));
        assert_eq!(all(&mut work), ["b.x", "a.x"]);
        ["a.x", "c.x", "c.y"].iter().for_each(|name| work.set_conflicting(name, true));
        work.set_conflicting("c.x", false);
        work.changed("b.x", None);
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

    #[test]
    fn a_group_is_reconciled_one_by_one() {
        let mut work = Work::default();
        ["a.x", "b.x", "c.y"].iter().for_each(|name| work.add(name));
        assert_eq!(work.next().as_deref(), Some("a.x"));
        work.add("a.x");
        assert_eq!(work.next().as_deref(), Some("c.y"));
        assert!(!work.has_next() && work.next().is_none());
        work.release("a.x");
        assert!(work.has_next());
        assert_eq!(all(&mut work), ["b.x", "a.x"]);
    }

    #[test]
    fn what_the_controller_left_is_not_queued() {
        let mut work = Work::default();
        let check = |work: &mut Work, at: Option<u64>, expect: &[&str]| {
            work.changed("a.x", at.map(Revision::new));
            assert_eq!(all(work), expect, "{at:?}");
        };
        check(&mut work, Some(1), &["a.x"]);
        work.settled("a.x", Revision::new(2), false);
        check(&mut work, Some(2), &[]);
        check(&mut work, Some(3), &["a.x"]);
        check(&mut work, None, &["a.x"]);
        check(&mut work, Some(2), &["a.x"]);
        work.add("a.x");
        work.settled("a.x", Revision::new(4), true);
        assert_eq!(all(&mut work), [""; 0]);
        work.set_conflicting("a.x", true);
        check(&mut work, Some(4), &["a.x"]);
    }
}
