//! Fields that are owned in another version of a kind than the one that is written.

use std::collections::HashMap;

use quorate_meta::Value;

use crate::fieldset::{Comparison, compare};
use crate::graph::{Graph, TypeId};

/// What an object is in some version of its kind.
#[derive(Debug)]
pub enum Seen {
    /// The object in the form of that version, and its type.
    As(TypeId, Value),
    /// There is no such version any more.
    Gone,
    /// Nothing is known about it.
    Unknown,
}

/// Between the versions of one kind.
pub trait Versions {
    /// `object`, which is in version `from`, as version `to` has it (both as `apiVersion` has them).
    fn convert(&self, from: &str, to: &str, object: &Value) -> Seen;
}

/// The versions of a kind that has only one: whatever else entries name is left alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _: &str, _: &str, _: &Value) -> Seen {
        Seen::Unknown
    }
}

/// What a write changes, as the owners in one version see it.
pub(crate) enum View {
    Changes(Comparison),
    Gone,
    Unknown,
}

/// What a write changes, in every version in which somebody owns something; each is looked at once.
pub(crate) struct Views<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) versions: &'a dyn Versions,
    /// The writer's version.
    pub(crate) own: &'a str,
    pub(crate) old: &'a Value,
    pub(crate) new: &'a Value,
    known: HashMap<String, View>,
}

impl<'a> Views<'a> {
    /// Begins with what the write changes in the writer's own version.
    pub(crate) fn new(
        graph: &'a Graph,
        versions: &'a dyn Versions,
        own: &'a str,
        (old, new): (&'a Value, &'a Value),
        changes: Comparison,
    ) -> Self {
        Self { graph, versions, own, old, new, known: HashMap::from([(own.to_owned(), View::Changes(changes))]) }
    }

    /// What the owners in `version` see.
    pub(crate) fn of(&mut self, version: &str) -> &View {
        if !self.known.contains_key(version) {
            let view = self.look(version);
            self.known.insert(version.to_owned(), view);
        }
        self.known.get(version).unwrap_or(&View::Unknown)
    }

    fn look(&self, version: &str) -> View {
        let see = |object| self.versions.convert(self.own, version, object);
        match (see(self.old), see(self.new)) {
            (Seen::As(ty, old), Seen::As(_, new)) => View::Changes(compare(self.graph, ty, &old, &new)),
            (Seen::Gone, _) | (_, Seen::Gone) => View::Gone,
            _ => View::Unknown,
        }
    }
}
