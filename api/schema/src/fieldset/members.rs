//! The set of all fields of a value, which a server-side apply of it would own.
//!
//! Sets are built from the leaves upwards, so the cost does not depend on the length of paths.

use quorate_meta::{Map, Value};

use super::form::{Form, keyed_element};
use super::set::Node;
use super::{Element, FieldSet};
use crate::graph::{Graph, TypeId};

/// All fields of `value`, which has type `ty`.
pub fn members(graph: &Graph, ty: TypeId, value: &Value) -> FieldSet {
    node(graph, Form::Message(graph.ty(ty)), value).below
}

fn node(graph: &Graph, form: Form<'_>, value: &Value) -> Node {
    match (form, value) {
        (Form::Message(_) | Form::Map(..) | Form::Free, Value::Map(map)) => {
            Node { member: false, below: of_map(graph, form, map) }
        }
        (Form::Set | Form::Keyed(..), Value::List(items)) => {
            Node { member: false, below: of_list(graph, form, items) }
        }
        (Form::Leaf | Form::Free, _) => Node { member: true, below: FieldSet::new() },
        _ => Node::default(),
    }
}

fn of_map(graph: &Graph, form: Form<'_>, map: &Map) -> FieldSet {
    FieldSet::of_nodes(map.iter().map(|(key, value)| {
        let mut found = node(graph, form.child(graph, key), value);
        let empty_map = value.as_map().is_some_and(Map::is_empty);
        found.member |= value.is_null() || empty_map || !form.declares(key);
        (Element::field(key), found)
    }))
}

fn of_list(graph: &Graph, form: Form<'_>, items: &[Value]) -> FieldSet {
    FieldSet::of_nodes(items.iter().map(|item| {
        let element = match form {
            Form::Keyed(inner, keys, _) => keyed_element(graph, inner, keys, item),
            _ => Element::value(item),
        };
        let below = node(graph, form.child(graph, ""), item).below;
        (element, Node { member: true, below })
    }))
}
