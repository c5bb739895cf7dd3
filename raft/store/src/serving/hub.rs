//! The watch hub: finds the topics that a change touches and wakes their watchers only.
//!
//! A topic stands for a watched prefix, or for some terms of which a value under it must have one,
//! and is shared by all its watchers. A change touches a narrowed topic when what the key held before
//! or what it holds now has one of its terms: that an object leaves a selection is news as well.
//! Invariants:
//! - A topic's `touched` is at least the newest announced revision that touched it; when it is at
//!   most a watcher's cursor, nothing up to the announced revision concerns this watcher. It may err
//!   upward (costing a scan).
//! - A watcher parks only while `touched` is at most its cursor, checked under the topic's lock,
//!   which the publisher takes after raising `touched`: no wake-up is lost.
//! - Waking a parked watcher gives it the first revision that touched its topic since it parked,
//!   so that a watcher that was parked for hours goes on from there and not from where it parked.
//!
//! The table's lock is held for a few tree look-ups by the publisher, which derives the terms of a
//! changed value only under prefixes with narrowed watches, and for an insertion by a reader that
//! starts a watch.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use super::narrowing::Narrowing;
use super::topic::{Cell, Topic};
use super::topics::PrefixTopics;
use crate::{Batch, Revision};

#[derive(Debug)]
pub(super) struct Hub {
    table: Mutex<BTreeMap<Bytes, PrefixTopics>>,
    announced: AtomicU64,
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
    pub(super) fn join(
        &self,
        prefix: &Bytes,
        narrowing: Option<&Narrowing>,
        newest: impl FnOnce() -> Revision,
    ) -> Arc<Topic> {
        let mut table = self.table.lock();
        if let Some(topics) = table.get_mut(prefix) {
            return topics.join(narrowing, newest);
        }
        table.entry(prefix.clone()).or_default().join(narrowing, newest)
    }

    /// Removes a watcher that joined.
    pub(super) fn leave(
        &self,
        prefix: &Bytes,
        narrowing: Option<&Narrowing>,
        topic: &Topic,
        cell: &Arc<Cell>,
    ) {
        topic.unpark(cell);
        let mut table = self.table.lock();
        let topics = table.get_mut(prefix).expect("every watcher joined its topic");
        topics.leave(narrowing);
        if topics.is_empty() {
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
            self.table.lock().values().flat_map(PrefixTopics::all).map(Arc::clone).collect();
        topics.iter().for_each(|topic| topic.touch_all(revision));
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
                each_prefix_of(&event.key, &table, |topics| {
                    topics.touched_by(event, |topic| {
                        if topic.touched() < first {
                            touched.push((Arc::clone(topic), batch.revision));
                        }
                        topic.touch(batch.revision);
                    });
                });
            }
        }
        touched
    }
}

/// Visits the topics of each prefix that the key starts with, longest first.
///
/// Whatever lies between a prefix of the key and the key in byte order starts with this prefix too.
/// So the greatest entry up to the key either is a prefix of it, or shares with it everything that
/// a shorter match can have.
fn each_prefix_of(
    key: &[u8],
    table: &BTreeMap<Bytes, PrefixTopics>,
    mut visit: impl FnMut(&PrefixTopics),
) {
    let mut upto = Bound::Included(key);
    while let Some((prefix, topics)) = table.range::<[u8], _>((Bound::Unbounded, upto)).next_back()
    {
        let common = key.iter().zip(prefix).take_while(|(a, b)| a == b).count();
        if common == prefix.len() {
            visit(topics);
            upto = Bound::Excluded(&key[..common]);
        } else {
            upto = Bound::Included(&key[..common]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Event, Term, TermSource};

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

    /// The words of a value; those of a value with a question mark are not known.
    #[derive(Debug)]
    struct Words;

    impl TermSource for Words {
        fn identity(&self) -> usize {
            0
        }

        fn terms(&self, value: &Bytes, found: &mut dyn FnMut(Term)) -> bool {
            let text = std::str::from_utf8(value).expect("the test writes text");
            text.split_whitespace().for_each(|word| found(Term::of(&[word])));
            !text.contains('?')
        }
    }

    #[test]
    fn finds_exactly_the_topics_of_a_term() {
        let watched =
            [("a/", "red"), ("a/", "red blue"), ("a/", "green"), ("a/", ""), ("b/", "red")];
        let check = |key: &str, previous: &'static str, current: &'static str, expect: &[usize]| {
            let hub = Hub::new(Revision::ZERO);
            let topics: Vec<_> =
                watched.iter().map(|(prefix, words)| narrowed(&hub, prefix, words)).collect();
            hub.publish(&[change(7, key, previous, current)]);
            let found = (0..watched.len()).filter(|place| topics[*place].touched().get() == 7);
            assert_eq!(found.collect::<Vec<_>>(), expect, "{key}: {previous:?} -> {current:?}");
        };
        check("a/1", "", "red", &[0, 1]);
        check("a/1", "red", "", &[0, 1]);
        check("a/1", "red", "green", &[0, 1, 2]);
        check("a/1", "blue pink", "pink", &[1]);
        check("a/1", "", "pink", &[]);
        check("a/1", "pink", "?", &[0, 1, 2, 3]);
        check("b/1", "", "red", &[4]);
        check("c/1", "", "red", &[]);
    }

    #[test]
    fn narrowed_topics_vanish_with_their_last_watcher() {
        let hub = Hub::new(Revision::ZERO);
        let (prefix, cell) = (Bytes::from_static(b"a/"), Arc::new(Cell::default()));
        let (one, two) = (narrowed(&hub, "a/", "red blue"), narrowed(&hub, "a/", "blue red"));
        assert!(Arc::ptr_eq(&one, &two), "the same terms");
        let other = narrowed(&hub, "a/", "red");
        let leave =
            |topic: &Topic, words| hub.leave(&prefix, Some(&narrowing(words)), topic, &cell);
        leave(&one, "red blue");
        leave(&other, "red");
        hub.publish(&[change(3, "a/1", "", "red")]);
        assert_eq!((two.touched().get(), other.touched().get()), (3, 0));
        leave(&two, "blue red");
        assert!(hub.table.lock().is_empty());
    }

    fn narrowing(words: &str) -> Narrowing {
        Narrowing::new(Arc::new(Words), words.split_whitespace().map(|word| Term::of(&[word])))
    }

    fn narrowed(hub: &Hub, prefix: &'static str, words: &str) -> Arc<Topic> {
        let prefix = Bytes::from_static(prefix.as_bytes());
        hub.join(&prefix, Some(&narrowing(words)), || Revision::ZERO)
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
        hub.leave(&Bytes::from_static(b"a/"), None, &topic, &cell);
        assert_eq!((hub.table.lock().len(), topic.parked_count()), (1, 0));
        hub.leave(&Bytes::from_static(b"a/"), None, &same, &cell);
        assert!(hub.table.lock().is_empty());
    }

    fn join(hub: &Hub, prefix: &'static str) -> Arc<Topic> {
        hub.join(&Bytes::from_static(prefix.as_bytes()), None, || Revision::ZERO)
    }

    fn batch(revision: u64, key: &str) -> Arc<Batch> {
        change(revision, key, "", "")
    }

    fn change(
        revision: u64,
        key: &str,
        previous: &'static str,
        current: &'static str,
    ) -> Arc<Batch> {
        let revision = Revision::new(revision);
        let entry = |value: &'static str| Entry {
            value: value.into(),
            created: revision,
            modified: revision,
        };
        let event = Event {
            key: Bytes::copy_from_slice(key.as_bytes()),
            current: Some(entry(current)),
            previous: Some(entry(previous)),
        };
        Arc::new(Batch { revision, time_ms: 0, events: Arc::new([event]), origin: Bytes::new() })
    }
}
