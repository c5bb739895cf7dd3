//! The fields that a value sets: what a server-side apply of it would own.

use quorate_meta::{Map, Value};

use super::form::{Form, keyed_element};
use super::{Element, FieldSet};
use crate::graph::{Graph, TypeId};

/// All fields that `value`, of type `ty`, sets.
pub fn members(graph: &Graph, ty: TypeId, value: &Value) -> FieldSet {
    let mut walk = Walk { graph, path: Vec::new(), set: FieldSet::new() };
    walk.visit(Form::Message(graph.ty(ty)), value);
    walk.set
}

struct Walk<'g> {
    graph: &'g Graph,
    path: Vec<Element>,
    set: FieldSet,
}

impl<'g> Walk<'g> {
    fn visit(&mut self, form: Form<'g>, value: &Value) {
        match (form, value) {
            (Form::Message(_) | Form::Map(_), Value::Map(map)) => self.map(form, map),
            (Form::Set | Form::Keyed(..), Value::List(items)) => self.list(form, items),
            (Form::Leaf, _) => self.set.insert(&self.path),
            _ => {}
        }
    }

    fn map(&mut self, form: Form<'g>, map: &Map) {
        for (key, value) in map.iter() {
            self.path.push(Element::field(key));
            self.visit(form.child(self.graph, key), value);
            let empty_map = value.as_map().is_some_and(Map::is_empty);
            if value.is_null() || empty_map || !matches!(form, Form::Message(_)) {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }

    fn list(&mut self, form: Form<'g>, items: &[Value]) {
        for item in items {
            self.path.push(match form {
                Form::Keyed(inner, keys) => keyed_element(self.graph, inner, keys, item),
                _ => Element::value(item),
            });
            self.visit(form.child(self.graph, ""), item);
            self.set.insert(&self.path);
            self.path.pop();
        }
    }
}
