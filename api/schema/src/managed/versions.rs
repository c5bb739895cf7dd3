//! Entries in other versions of a kind than that of the request.

use std::collections::HashMap;
use std::sync::Arc;

use quorate_meta::Value;

use crate::fieldset::{Comparison, compare};
use crate::graph::{Graph, TypeId};

/// An object in a version of its kind.
#[derive(Debug)]
pub enum Seen {
    /// The object in that version, and its type in the graph that has it.
    As(Arc<Graph>, TypeId, Value),
    /// The version does not exist any more.
    Gone,
    /// The conversion is not possible.
    Unknown,
}

/// The conversion between the versions of one kind.
pub trait Versions {
    /// `object`, converted from the `apiVersion` `from` to the `apiVersion` `to`.
    fn convert(&self, from: &str, to: &str, object: &Value) -> Seen;
}

/// The versions of a kind with a single version; entries of others stay as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _: &str, _: &str, _: &Value) -> Seen {
        Seen::Unknown
    }
}

/// The changes of a write in one version.
pub(crate) enum View {
    Changes(Comparison),
    Gone,
    Unknown,
}

/// The changes of a write, in every version that entries name; each version is converted once.
pub(crate) struct Views<'a> {
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
        versions: &'a dyn Versions,
        own: &'a str,
        (old, new): (&'a Value, &'a Value),
        changes: Comparison,
    ) -> Self {
        Self {
            versions,
            own,
            old,
            new,
            known: HashMap::from([(own.to_owned(), View::Changes(changes))]),
        }
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
            (Seen::As(graph, ty, old), Seen::As(.., new)) => {
                View::Changes(compare(&graph, ty, &old, &new))
            }
            (Seen::Gone, _) | (_, Seen::Gone) => View::Gone,
            _ => View::Unknown,
        }
    }
}
