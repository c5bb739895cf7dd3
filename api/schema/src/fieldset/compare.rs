//! What differs between two objects of one type.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use quorate_meta::{Map, Value};

use super::form::{Form, keyed_element};
use super::{Element, FieldSet};
use crate::graph::{Graph, TypeId};

/// The differences between an old and a new object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only the new one has them.
    pub added: FieldSet,
    /// Both have them, with different values.
    pub modified: FieldSet,
    /// Only the old one has them.
    pub removed: FieldSet,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Compares two values of type `ty` in canonical form. A field that is `null` exists; one that is absent does not.
pub fn compare(graph: &Graph, ty: TypeId, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { graph, path: Vec::new(), result: Comparison::default() };
    walk.visit(Form::Message(graph.ty(ty)), Some(old), Some(new));
    walk.result
}

struct Walk<'g> {
    graph: &'g Graph,
    path: Vec<Element>,
    result: Comparison,
}

impl<'g> Walk<'g> {
    fn visit(&mut self, form: Form<'g>, old: Option<&Value>, new: Option<&Value>) {
        let nothing = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_empty());
        let leaf = matches!(form, Form::Leaf) || (nothing(old) && nothing(new));
        if leaf {
            return self.leaf(old, new);
        }
        match form {
            Form::Set | Form::Keyed(..) => self.list(form, old, new),
            _ => self.map(form, old.and_then(Value::as_map), new.and_then(Value::as_map)),
        }
        match (old, new) {
            (None, _) => self.result.added.insert(&self.path),
            (_, None) => self.result.removed.insert(&self.path),
            _ => {}
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, Some(_)) => self.result.added.insert(&self.path),
            (Some(_), None) => self.result.removed.insert(&self.path),
            (Some(old), Some(new)) if old != new => self.result.modified.insert(&self.path),
            _ => {}
        }
    }

    /// Walks two sorted maps side by side; equal values are passed over without a look inside.
    fn map(&mut self, form: Form<'g>, old: Option<&Map>, new: Option<&Map>) {
        let mut old = old.into_iter().flat_map(Map::iter).peekable();
        let mut new = new.into_iter().flat_map(Map::iter).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            let before = if order.is_le() { old.next() } else { None };
            let after = if order.is_ge() { new.next() } else { None };
            let Some((key, _)) = before.or(after) else { return };
            let (before, after) = (before.map(|(_, value)| value), after.map(|(_, value)| value));
            if before == after {
                continue;
            }
            self.path.push(Element::field(key));
            self.visit(form.child(self.graph, key), before, after);
            self.path.pop();
        }
    }

    fn list(&mut self, form: Form<'g>, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (self.by_element(form, old), self.by_element(form, new));
        let elements: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        let none = Vec::new();
        for element in elements {
            self.path.push(element.clone());
            match (old.get(element).unwrap_or(&none).as_slice(), new.get(element).unwrap_or(&none).as_slice()) {
                (old @ ([] | [_]), new @ ([] | [_])) => {
                    self.visit(form.child(self.graph, ""), old.first().copied(), new.first().copied());
                }
                ([], _) => self.result.added.insert(&self.path),
                (_, []) => self.result.removed.insert(&self.path),
                (old, new) if old != new => self.result.modified.insert(&self.path),
                _ => {}
            }
            self.path.pop();
        }
    }

    /// List elements by what tells them apart; several values when a list holds duplicates.
    fn by_element<'v>(&self, form: Form<'g>, list: Option<&'v Value>) -> BTreeMap<Element, Vec<&'v Value>> {
        let mut found: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        for item in list.and_then(Value::as_list).unwrap_or_default() {
            let element = match form {
                Form::Keyed(inner, keys) => keyed_element(self.graph, inner, keys, item),
                _ => Element::value(item),
            };
            found.entry(element).or_default().push(item);
        }
        found
    }
}
