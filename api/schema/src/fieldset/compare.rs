//! The comparison of two objects of one type, as sets of changed fields.
//!
//! Sets are built from the leaves upwards, so the cost does not depend on the length of paths.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use quorate_meta::{Map, Value};

use super::form::{Form, keyed_element};
use super::set::Node;
use super::{Element, FieldSet, Reach};
use crate::graph::{Graph, TypeId};

/// The differences between an old and a new object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields only of the new object.
    pub added: FieldSet,
    /// Fields of both objects with different values.
    pub modified: FieldSet,
    /// Fields only of the old object.
    pub removed: FieldSet,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// The differences within reach.
    #[must_use]
    pub fn within(self, reach: &Reach) -> Self {
        let [added, modified, removed] =
            [self.added, self.modified, self.removed].map(|set| reach.cut(set));
        Self { added, modified, removed }
    }
}

/// Compares two values of type `ty` in canonical form. A field that is `null` exists; one that is
/// absent does not.
pub fn compare(graph: &Graph, ty: TypeId, old: &Value, new: &Value) -> Comparison {
    let delta = ComparisonWalk { graph }.visit(Form::Message(graph.ty(ty)), Some(old), Some(new));
    Comparison {
        added: delta.added.below,
        modified: delta.modified.below,
        removed: delta.removed.below,
    }
}

/// The differences at and below one element.
#[derive(Default)]
struct Delta {
    added: Node,
    modified: Node,
    removed: Node,
}

/// The differences at and below the elements of a map or list, each of which occurs once.
#[derive(Default)]
struct Parts {
    added: Vec<(Element, Node)>,
    modified: Vec<(Element, Node)>,
    removed: Vec<(Element, Node)>,
}

impl Parts {
    /// Adds those of one element.
    fn put(&mut self, element: impl Fn() -> Element, part: Delta) {
        let kinds = [
            (&mut self.added, part.added),
            (&mut self.modified, part.modified),
            (&mut self.removed, part.removed),
        ];
        for (parts, part) in kinds {
            if !part.is_empty() {
                parts.push((element(), part));
            }
        }
    }

    /// The differences below the map or list.
    fn below(self) -> Delta {
        let [added, modified, removed] = [self.added, self.modified, self.removed]
            .map(|parts| Node { member: false, below: FieldSet::of_nodes(parts) });
        Delta { added, modified, removed }
    }
}

struct ComparisonWalk<'g> {
    graph: &'g Graph,
}

impl<'g> ComparisonWalk<'g> {
    fn visit(&self, form: Form<'g>, old: Option<&Value>, new: Option<&Value>) -> Delta {
        let nothing =
            |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_empty());
        let mut delta = match form {
            Form::Leaf => Delta { modified: differing(old, new), ..Delta::default() },
            _ if nothing(old) && nothing(new) => {
                Delta { modified: differing(old, new), ..Delta::default() }
            }
            Form::Set | Form::Keyed(..) => self.list(form, old, new),
            Form::Free
                if [old, new]
                    .into_iter()
                    .flatten()
                    .any(|value| !matches!(value, Value::Map(_))) =>
            {
                Delta { modified: differing(old, new), ..Delta::default() }
            }
            Form::Message(_) | Form::Map(..) | Form::Free => {
                self.map(form, old.and_then(Value::as_map), new.and_then(Value::as_map))
            }
        };
        match (old, new) {
            (None, Some(_)) => delta.added.member = true,
            (Some(_), None) => delta.removed.member = true,
            _ => {}
        }
        delta
    }

    /// Walks two sorted maps in one pass; equal values are skipped.
    fn map(&self, form: Form<'g>, old: Option<&Map>, new: Option<&Map>) -> Delta {
        let mut parts = Parts::default();
        let mut old = old.into_iter().flat_map(Map::iter).peekable();
        let mut new = new.into_iter().flat_map(Map::iter).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return parts.below(),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            let before = if order.is_le() { old.next() } else { None };
            let after = if order.is_ge() { new.next() } else { None };
            let Some((key, _)) = before.or(after) else {
                return parts.below();
            };
            let (before, after) = (before.map(|(_, value)| value), after.map(|(_, value)| value));
            if before != after {
                parts.put(
                    || Element::field(key),
                    self.visit(form.child(self.graph, key), before, after),
                );
            }
        }
    }

    fn list(&self, form: Form<'g>, old: Option<&Value>, new: Option<&Value>) -> Delta {
        let mut parts = Parts::default();
        let (old, new) = (self.by_element(form, old), self.by_element(form, new));
        let elements: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        let none = Vec::new();
        for element in elements {
            let part = match (
                old.get(element).unwrap_or(&none).as_slice(),
                new.get(element).unwrap_or(&none).as_slice(),
            ) {
                (old, new) if old == new => continue,
                (old @ ([] | [_]), new @ ([] | [_])) => self.visit(
                    form.child(self.graph, ""),
                    old.first().copied(),
                    new.first().copied(),
                ),
                ([], _) => Delta { added: Node::member(), ..Delta::default() },
                (_, []) => Delta { removed: Node::member(), ..Delta::default() },
                _ => Delta { modified: Node::member(), ..Delta::default() },
            };
            parts.put(|| element.clone(), part);
        }
        parts.below()
    }

    /// List elements by identity; several values for duplicates.
    fn by_element<'v>(
        &self,
        form: Form<'g>,
        list: Option<&'v Value>,
    ) -> BTreeMap<Element, Vec<&'v Value>> {
        let mut found: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        for item in list.and_then(Value::as_list).unwrap_or_default() {
            let element = match form {
                Form::Keyed(inner, keys, _) => keyed_element(self.graph, inner, keys, item),
                _ => Element::value(item),
            };
            found.entry(element).or_default().push(item);
        }
        found
    }
}

/// A member when both exist and differ.
fn differing(old: Option<&Value>, new: Option<&Value>) -> Node {
    match (old, new) {
        (Some(old), Some(new)) if old != new => Node::member(),
        _ => Node::default(),
    }
}
