//! The topics under one watched prefix: that of the prefix itself, and narrowed ones by their terms.
//!
//! Invariant: a topic is here while it has watchers. A narrowed one is found by each of its terms;
//! watchers that name the same terms share one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::narrowing::{Narrowing, Term, TermSource, values};
use super::topic::Topic;
use crate::{Event, Revision};

/// The topics under a prefix.
#[derive(Debug, Default)]
pub(super) struct PrefixTopics {
    whole: Option<Registered>,
    /// By their sources, of which there are few.
    narrowed: Vec<NarrowedTopics>,
}

/// Topics whose terms come from one source.
#[derive(Debug)]
struct NarrowedTopics {
    source: Arc<dyn TermSource>,
    topics: BTreeMap<Arc<[Term]>, Registered>,
    by_term: BTreeMap<Term, Vec<Arc<Topic>>>,
}

#[derive(Debug)]
struct Registered {
    topic: Arc<Topic>,
    watchers: usize,
}

impl PrefixTopics {
    /// Adds a watcher; `newest` is asked for a new topic only.
    pub(super) fn join(
        &mut self,
        narrowing: Option<&Narrowing>,
        newest: impl FnOnce() -> Revision,
    ) -> Arc<Topic> {
        let Some(narrowing) = narrowing else {
            let whole = self.whole.get_or_insert_with(|| Registered::new(newest(), false));
            return whole.join();
        };
        let place = self.place(narrowing).unwrap_or_else(|| {
            self.narrowed.push(NarrowedTopics::new(Arc::clone(narrowing.source())));
            self.narrowed.len() - 1
        });
        self.narrowed[place].join(narrowing.terms(), newest)
    }

    /// Removes a watcher that joined.
    pub(super) fn leave(&mut self, narrowing: Option<&Narrowing>) {
        let Some(narrowing) = narrowing else {
            self.whole.take_if(Registered::leave);
            return;
        };
        let place = self.place(narrowing).expect("every watcher joined its topic");
        self.narrowed[place].leave(narrowing.terms());
        if self.narrowed[place].topics.is_empty() {
            self.narrowed.remove(place);
        }
    }

    /// Whether nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.narrowed.is_empty()
    }

    /// Every topic.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Topic>> {
        let narrowed = self.narrowed.iter().flat_map(|narrowed| narrowed.topics.values());
        self.whole.iter().chain(narrowed).map(|registered| &registered.topic)
    }

    /// Visits the topics that the change of a key under the prefix touches, some of them twice.
    pub(super) fn touched_by(&self, event: &Event, mut visit: impl FnMut(&Arc<Topic>)) {
        self.whole.iter().for_each(|whole| visit(&whole.topic));
        for narrowed in &self.narrowed {
            narrowed.touched_by(event, &mut visit);
        }
    }

    fn place(&self, narrowing: &Narrowing) -> Option<usize> {
        let identity = narrowing.source().identity();
        self.narrowed.iter().position(|narrowed| narrowed.source.identity() == identity)
    }
}

impl NarrowedTopics {
    fn new(source: Arc<dyn TermSource>) -> Self {
        Self { source, topics: BTreeMap::new(), by_term: BTreeMap::new() }
    }

    fn join(&mut self, terms: &Arc<[Term]>, newest: impl FnOnce() -> Revision) -> Arc<Topic> {
        if let Some(registered) = self.topics.get_mut(terms) {
            return registered.join();
        }
        let mut registered = Registered::new(newest(), true);
        let topic = registered.join();
        self.topics.insert(Arc::clone(terms), registered);
        for term in terms.iter() {
            self.by_term.entry(*term).or_default().push(Arc::clone(&topic));
        }
        topic
    }

    fn leave(&mut self, terms: &Arc<[Term]>) {
        let registered = self.topics.get_mut(terms).expect("every watcher joined its topic");
        if !registered.leave() {
            return;
        }
        let topic = Arc::clone(&registered.topic);
        self.topics.remove(terms);
        for term in terms.iter() {
            let topics = self.by_term.get_mut(term).expect("a topic is found by its terms");
            topics.retain(|other| !Arc::ptr_eq(other, &topic));
            if topics.is_empty() {
                self.by_term.remove(term);
            }
        }
    }

    fn touched_by(&self, event: &Event, visit: &mut impl FnMut(&Arc<Topic>)) {
        for value in values(event) {
            let found = &mut |term: Term| {
                self.by_term.get(&term).into_iter().flatten().for_each(&mut *visit);
            };
            if !self.source.terms(value, found) {
                self.topics.values().for_each(|registered| visit(&registered.topic));
            }
        }
    }
}

impl Registered {
    fn new(newest: Revision, narrowed: bool) -> Self {
        Self { topic: Arc::new(Topic::new(newest, narrowed)), watchers: 0 }
    }

    fn join(&mut self) -> Arc<Topic> {
        self.watchers += 1;
        Arc::clone(&self.topic)
    }

    /// True when that was the last watcher.
    fn leave(&mut self) -> bool {
        self.watchers -= 1;
        self.watchers == 0
    }
}
