//! Unknown fields, for field validation (KEP-2885): fields of an object that its type does not
//! have.

use quorate_meta::{Map, Value};

use crate::fieldset::shortened;
use crate::graph::{Graph, Shape, TypeDef, TypeId, Unknowns};
use crate::path::FieldPath;

/// Paths that are listed, at most; the others are counted.
const MAX_TOLD: usize = 1000;

/// Fields that a type does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Their paths (`spec.containers[0].imagee`) in key order, at most `MAX_TOLD`; of very long
    /// ones the end after `...`.
    pub paths: Vec<String>,
    /// The number of further unknown fields.
    pub more: usize,
}

/// The fields that type `ty` does not have; with `prune` they are removed from `value`. Fields
/// below `any` are never unknown, and those below a type that is a schema or something else are
/// removed without being told: in Kubernetes such a type reads itself. Values of a wrong type are
/// ignored.
pub fn unknown_fields(graph: &Graph, ty: TypeId, value: &mut Value, prune: bool) -> Unknown {
    let mut walk = UnknownFieldWalk::new(graph, prune);
    if let Value::Map(map) = value {
        walk.message(graph.ty(ty), map);
    }
    walk.found
}

/// Whether a value of this form has fields that its types do not have; it loses them.
pub(crate) fn unknown_in(graph: &Graph, shape: &Shape, value: &mut Value) -> bool {
    let mut walk = UnknownFieldWalk::new(graph, true);
    walk.shape(shape, value);
    !walk.found.paths.is_empty()
}

struct UnknownFieldWalk<'g> {
    graph: &'g Graph,
    prune: bool,
    path: FieldPath,
    found: Unknown,
    /// Whether what is found is told.
    tells: bool,
}

impl<'g> UnknownFieldWalk<'g> {
    fn new(graph: &'g Graph, prune: bool) -> Self {
        let (path, found) = (FieldPath::default(), Unknown::default());
        Self { graph, prune, path, found, tells: true }
    }

    fn message(&mut self, ty: &TypeDef, map: &mut Map) {
        let prune = self.prune;
        map.retain(|name, value| {
            let mark = self.path.push_key(name);
            let known = match ty.property(name) {
                Some(field) => {
                    self.shape(&field.shape, value);
                    true
                }
                None if ty.custom == Some(Unknowns::Kept) => true,
                None if !self.tells => false,
                None => {
                    if self.found.paths.len() < MAX_TOLD {
                        self.found.paths.push(shortened(self.path.as_str()).into_owned());
                    } else {
                        self.found.more += 1;
                    }
                    false
                }
            };
            self.path.truncate(mark);
            known || !prune
        });
    }

    fn shape(&mut self, shape: &Shape, value: &mut Value) {
        match (shape, value) {
            (Shape::Message(id), value) if self.graph.ty(*id).mixed.is_some() => {
                self.mixed(self.graph.ty(*id), value)
            }
            (Shape::Message(id), value) if self.graph.ty(*id).is_untyped() => {
                self.untyped(self.graph.ty(*id), value)
            }
            (Shape::Message(id), Value::Map(map)) => self.message(self.graph.ty(*id), map),
            (Shape::List(inner), Value::List(items)) => {
                self.items(items, |walk, item| walk.shape(inner, item))
            }
            (Shape::Map(inner), Value::Map(map)) => {
                for (key, item) in map.iter_mut() {
                    let mark = self.path.push_key(key);
                    self.shape(inner, item);
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }

    /// Every entry is unknown where maps are emptied, and none where anything goes.
    fn untyped(&mut self, ty: &TypeDef, value: &mut Value) {
        if ty.custom != Some(Unknowns::Emptied) {
            return;
        }
        match value {
            Value::Map(map) => self.message(ty, map),
            Value::List(items) => self.items(items, |walk, item| walk.untyped(ty, item)),
            _ => {}
        }
    }

    fn mixed(&mut self, ty: &TypeDef, value: &mut Value) {
        let Some(schema) = ty.fields.iter().find_map(|field| field.shape.message()) else {
            return;
        };
        let shape = Shape::Message(schema);
        let tells = std::mem::replace(&mut self.tells, false);
        match value {
            Value::List(items) => self.items(items, |walk, item| walk.shape(&shape, item)),
            value => self.shape(&shape, value),
        }
        self.tells = tells;
    }

    fn items(&mut self, items: &mut [Value], mut visit: impl FnMut(&mut Self, &mut Value)) {
        for (index, item) in items.iter_mut().enumerate() {
            let mark = self.path.push_index(index);
            visit(self, item);
            self.path.truncate(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{graph, json, ty};

    #[test]
    fn a_long_key_above_many_unknown_fields_is_not_repeated() {
        let graph = graph();
        let key = "é".repeat(1 << 20);
        let names: Vec<String> = (0..MAX_TOLD + 2).map(|at| format!(r#""x{at:04}":1"#)).collect();
        let mut value = json(&format!(r#"{{"properties":{{"{key}":{{{}}}}}}}"#, names.join(",")));
        let Unknown { paths, more } = unknown_fields(
            &graph,
            ty(&graph, "apiextensions/v1.JSONSchemaProps"),
            &mut value,
            true,
        );
        assert_eq!((paths.len(), more), (MAX_TOLD, 2));
        assert_eq!(paths[0], format!("...{}.x0000", "é".repeat(509)));
        assert!(paths.iter().all(|path| path.len() <= 1027));
    }

    #[test]
    fn below_what_reads_itself_nothing_is_told() {
        let graph = graph();
        let check = |text: &str, told: &[&str], left: &str| {
            let mut value = json(text);
            let schema = ty(&graph, "apiextensions/v1.JSONSchemaProps");
            let found = unknown_fields(&graph, schema, &mut value, true);
            assert_eq!(
                (found.paths.iter().map(String::as_str).collect(), &value),
                (told.to_vec(), &json(left)),
                "{text}"
            );
        };
        check(r#"{"anyOf":[{"optional":1}]}"#, &["anyOf[0].optional"], r#"{"anyOf":[{}]}"#);
        check(
            r#"{"items":{"anyOf":[{"optional":1}]},"x":1}"#,
            &["x"],
            r#"{"items":{"anyOf":[{}]}}"#,
        );
        check(r#"{"items":[{"x":1}]}"#, &[], r#"{"items":[{}]}"#);
        check(
            r#"{"additionalProperties":{"properties":{"a":{"x":1}}}}"#,
            &[],
            r#"{"additionalProperties":{"properties":{"a":{}}}}"#,
        );
    }
}
