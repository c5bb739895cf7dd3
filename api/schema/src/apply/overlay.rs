//! The merge of a partial object into an object without owners of fields, as mutating policies do it
//! (KEP-3962).
//!
//! Invariant: the result has the owners of the object, and every field that is not applied stays.

use quorate_meta::{Map, Value};

use super::{Config, merge};
use crate::decode::canonicalize;
use crate::fieldset::{Element, Form};
use crate::graph::{Field, Graph, Shape, TypeId};

const METADATA: &str = "metadata";
const MANAGED_FIELDS: &str = "managedFields";

/// The object with the applied fields, in canonical form, without new defaults.
#[must_use]
pub fn overlay(graph: &Graph, ty: TypeId, object: &Value, applied: &Config) -> Value {
    let mut merged = merge::merge(graph, ty, object, applied.value());
    if let Some(owners) = object.at(&[METADATA, MANAGED_FIELDS]) {
        merged.set_at(&[METADATA, MANAGED_FIELDS], owners.clone());
    }
    canonicalize(graph, ty, &mut merged);
    merged
}

/// The paths of the atomic lists, maps and messages in a partial object: applied as a whole, they
/// would remove what is not in them.
#[must_use]
pub fn atomics(graph: &Graph, ty: TypeId, applied: &Config) -> Vec<String> {
    let mut finder = AtomicFinder { graph, path: Vec::new(), found: Vec::new() };
    finder.inside(&Shape::Message(ty), applied.value());
    finder.found
}

struct AtomicFinder<'g> {
    graph: &'g Graph,
    path: Vec<Element>,
    found: Vec<String>,
}

impl AtomicFinder<'_> {
    fn value(&mut self, form: Form<'_>, shape: &Shape, value: &Value) {
        let is_atomic = matches!(
            (form, value),
            (Form::Leaf, Value::Map(_) | Value::List(_)) | (Form::Free, Value::List(_))
        );
        if is_atomic {
            self.found.push(self.path.iter().map(ToString::to_string).collect());
        }
        self.inside(shape, value);
    }

    fn inside(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Message(id), Value::Map(map)) => self.message(*id, map),
            (Shape::List(inner), Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(Element::index(index));
                    self.value(Form::of_shape(self.graph, inner), inner, item);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, id: TypeId, map: &Map) {
        let graph = self.graph;
        let fields = map.iter().filter_map(|(key, value)| {
            let field: &Field = graph.ty(id).property(key)?;
            Some((key, field, value))
        });
        for (key, field, value) in fields {
            self.path.push(Element::field(key));
            self.value(Form::of_field(graph, field), &field.shape, value);
            self.path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{graph, json, text, ty};

    #[test]
    fn fields_are_merged_and_owners_stay() {
        let graph = graph();
        let ty = ty(&graph, "core/v1.Pod");
        let check = |object: &str, applied: &str, expect: &str| {
            let applied = Config::new(&graph, ty, json(applied)).expect("it fits");
            assert_eq!(text(&overlay(&graph, ty, &json(object), &applied)), text(&json(expect)));
        };
        check(
            r#"{"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "spec": {"containers": [{"name": "c", "image": "i"}]}}"#,
            r#"{"metadata": {"labels": {"l": "1"}}, "spec": {"containers": [{"name": "d"}, {"name": "c", "tty": true}]}}"#,
            r#"{"metadata": {"labels": {"l": "1"}, "managedFields": [{"manager": "m"}], "name": "a"}, "spec": {"containers": [{"name": "d", "resources": {}}, {"image": "i", "name": "c", "resources": {}, "tty": true}]}, "status": {}}"#,
        );
    }

    #[test]
    fn atomic_parts_are_found_by_their_place() {
        let graph = graph();
        let check = |kind: &str, applied: &str, expect: &[&str]| {
            let ty = ty(&graph, kind);
            let applied = Config::new(&graph, ty, json(applied)).expect("it fits");
            assert_eq!(atomics(&graph, ty, &applied), expect);
        };
        check(
            "core/v1.Pod",
            r#"{"metadata": {"labels": {"a": "b"}}, "spec": {"hostname": "x"}}"#,
            &[],
        );
        check("core/v1.Pod", r#"{"spec": {"nodeSelector": {"a": "b"}}}"#, &[".spec.nodeSelector"]);
        check(
            "core/v1.Pod",
            r#"{"spec": {"containers": [{"name": "a", "args": []}, {"name": "b", "command": ["x"]}]}}"#,
            &[".spec.containers[0].args", ".spec.containers[1].command"],
        );
        check(
            "apps/v1.Deployment",
            r#"{"spec": {"selector": {"matchExpressions": [{"key": "a"}]}}}"#,
            &[".spec.selector", ".spec.selector.matchExpressions"],
        );
    }
}
