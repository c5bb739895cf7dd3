//! Narrowed watches: the terms that values have, and what a watch says of those it wants.
//!
//! A term is an opaque property of a value, such as one label with its value. Who watches names
//! terms of which each value it wants has at least one; the store compares them and knows nothing of
//! what they mean.
//!
//! Invariant: terms only spare work. They are hashes, so two may be taken for one, and a value whose
//! terms are not known may have any: a narrowed watch gives every change that concerns it, and
//! perhaps others, which its reader has to pass over.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Digest, Event};

/// A property that values have or have not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u64);

impl Term {
    /// The term that these parts name, in their order.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        let mut digest = Digest::new();
        parts.iter().for_each(|part| digest.bytes(part.as_bytes()));
        Self(digest.finish())
    }
}

/// What derives the terms of values. It is asked once for each changed value while a watch of its
/// prefix is narrowed by it, by the task that publishes changes: it must not wait and costs at most a
/// few microseconds.
pub trait TermSource: Send + Sync + fmt::Debug + 'static {
    /// Tells one source from others: sources with the same identity find the same terms. An address
    /// will do of what the source keeps alive.
    fn identity(&self) -> usize;

    /// Gives each term of a value to `found`. False when they are not known and may be any.
    fn terms(&self, value: &Bytes, found: &mut dyn FnMut(Term)) -> bool;
}

/// What a narrowed watch is about: changes of values that have one of some terms, before or after.
#[derive(Debug, Clone)]
pub struct Narrowing {
    source: Arc<dyn TermSource>,
    terms: Arc<[Term]>,
}

impl Narrowing {
    /// A watch of values that have any of the terms.
    #[must_use]
    pub fn new(source: Arc<dyn TermSource>, terms: impl IntoIterator<Item = Term>) -> Self {
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_unstable();
        terms.dedup();
        Self { source, terms: terms.into() }
    }

    pub(super) fn source(&self) -> &Arc<dyn TermSource> {
        &self.source
    }

    /// The terms, ascending, each once.
    #[must_use]
    pub fn terms(&self) -> &Arc<[Term]> {
        &self.terms
    }

    /// Whether a change may concern the watch.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        values(event).any(|value| {
            let mut has = false;
            let known = self
                .source
                .terms(value, &mut |term| has = has || self.terms.binary_search(&term).is_ok());
            has || !known
        })
    }
}

/// What a key held before and after a change.
pub(super) fn values(event: &Event) -> impl Iterator<Item = &Bytes> {
    [&event.previous, &event.current].into_iter().flatten().map(|entry| &entry.value)
}
