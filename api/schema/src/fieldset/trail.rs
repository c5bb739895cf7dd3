//! Paths of the members of a set, for messages.
//!
//! Paths share their common elements, so that all paths together are linear in the set, however
//! long the elements are; the text of one path is bounded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{Element, FieldSet, Node};

/// Bytes of the text of a path, at most; of a longer one only the end is shown.
const MAX_SHOWN_BYTES: usize = 1024;

/// A path, linked from its end to its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trail {
    element: Element,
    above: Option<Arc<Trail>>,
}

impl fmt::Display for Trail {
    /// The form in messages: `.spec.containers[name="c"].image`; of a very long one the end after
    /// `...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut bytes = 0;
        let mut next = Some(self);
        while let Some(trail) = next.filter(|_| bytes <= MAX_SHOWN_BYTES) {
            let part = trail.element.shown_end(MAX_SHOWN_BYTES);
            bytes += part.len();
            parts.push(part);
            next = trail.above.as_deref();
        }
        parts.reverse();
        f.write_str(&shortened(&parts.concat()))
    }
}

/// A text from a client, for a message; of a very long one the end after `...`.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SHOWN_BYTES {
        return Cow::Borrowed(text);
    }
    let begin = text.ceil_char_boundary(text.len() - MAX_SHOWN_BYTES);
    Cow::Owned(format!("...{}", &text[begin..]))
}

impl FieldSet {
    /// The paths of all members, parents before children, in order of their elements.
    pub(crate) fn trails(&self) -> Vec<Arc<Trail>> {
        let mut trails = Vec::new();
        self.follow(None, &mut trails);
        trails
    }

    fn follow(&self, above: Option<&Arc<Trail>>, into: &mut Vec<Arc<Trail>>) {
        for (element, node) in self.nodes.iter() {
            let trail = Arc::new(Trail { element: element.clone(), above: above.cloned() });
            if node.member {
                into.push(Arc::clone(&trail));
            }
            node.below.follow(Some(&trail), into);
        }
    }

    /// The paths of all members, each with its own elements.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        for trail in self.trails() {
            let steps = std::iter::successors(Some(&*trail), |step| step.above.as_deref());
            let mut path: Vec<Element> = steps.map(|step| step.element.clone()).collect();
            path.reverse();
            paths.push(path);
        }
        paths
    }
}

/// A search for paths of other sets in a set, which follows shared elements once. Those sets must
/// outlive it: it compares elements by address.
pub(crate) struct Lookup<'s> {
    set: &'s FieldSet,
    known: HashMap<*const Trail, Option<&'s FieldSet>>,
}

impl<'s> Lookup<'s> {
    /// A search in this set.
    pub(crate) fn new(set: &'s FieldSet) -> Self {
        Self { set, known: HashMap::new() }
    }

    /// Whether a path is a member.
    pub(crate) fn has(&mut self, trail: &Trail) -> bool {
        self.node(trail).is_some_and(|node| node.member)
    }

    fn node(&mut self, trail: &Trail) -> Option<&'s Node> {
        let set = match &trail.above {
            None => self.set,
            Some(above) => self.below(above)?,
        };
        set.node(&trail.element)
    }

    fn below(&mut self, trail: &Arc<Trail>) -> Option<&'s FieldSet> {
        let place = Arc::as_ptr(trail);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let found = self.node(trail).map(|node| &node.below);
        self.known.insert(place, found);
        found
    }
}
