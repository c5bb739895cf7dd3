//! Embedded objects: each says what it is, in names that exist.

use quorate_meta::{Cause, Map, Path, Value, name};

use super::Structural;
use super::limits::Told;
use super::node::{Additional, NodeId, SchemaNode};
use crate::fieldset::shortened;
use crate::path::FieldPath;

/// What is wrong with the metadata that stands at a path, by the rules that all kinds share.
pub type CheckMetadata<'a> = &'a dyn Fn(&Path, &Value) -> Vec<Cause>;

/// What is wrong with all embedded objects of an object.
pub(super) fn validate(
    compiled: &Structural,
    object: &Value,
    metadata: CheckMetadata<'_>,
) -> Vec<Cause> {
    if !compiled.below.has_embedded(compiled.root) {
        return Vec::new();
    }
    let mut walk =
        EmbeddedCheck { compiled, metadata, path: FieldPath::default(), told: Told::default() };
    walk.node(compiled.root, object);
    walk.told.into_causes()
}

struct EmbeddedCheck<'c> {
    compiled: &'c Structural,
    metadata: CheckMetadata<'c>,
    path: FieldPath,
    told: Told,
}

impl EmbeddedCheck<'_> {
    fn node(&mut self, id: NodeId, value: &Value) {
        if !self.compiled.below.has_embedded(id) {
            return;
        }
        let node = self.compiled.node(id);
        match (value, node.items) {
            (Value::Map(map), _) => self.object(node, map),
            (Value::List(items), Some(id)) => {
                for (index, item) in items.iter().enumerate() {
                    let mark = self.path.push_index(index);
                    self.node(id, item);
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, node: &SchemaNode, map: &Map) {
        if node.embedded {
            self.embedded(map);
        }
        for (name, value) in map.iter() {
            let (id, mark) = match (node.property(name), node.additional) {
                (Some(id), _) => (id, self.path.push_key(name)),
                (None, Additional::Schema(id)) => (id, self.path.push_index_key(name)),
                _ => continue,
            };
            self.node(id, value);
            self.path.truncate(mark);
        }
    }

    fn embedded(&mut self, map: &Map) {
        self.word(map, "apiVersion", |text| {
            let problem = format!("unexpected GroupVersion string: {text}");
            (text.matches('/').count() > 1).then_some(problem)
        });
        self.word(map, "kind", |text| {
            let problems = name::dns_1035_label(&text.to_lowercase()).join(",");
            let problem = format!("may have mixed case, but should otherwise match: {problems}");
            (!problems.is_empty()).then_some(problem)
        });
        if let Some(metadata) = map.get("metadata") {
            let path = self.field("metadata");
            for cause in (self.metadata)(&path, metadata) {
                self.told.push(|| cause);
            }
        }
    }

    fn word(&mut self, map: &Map, name: &str, problem: impl Fn(&str) -> Option<String>) {
        let field = self.field(name);
        match map.get(name) {
            None => self.told.push(|| Cause::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                self.told.push(|| Cause::required(field, ""))
            }
            Some(Value::String(text)) => {
                if let Some(problem) = problem(text) {
                    self.told.push(|| Cause::invalid(field, text.as_str(), &problem));
                }
            }
            Some(other) => {
                self.told.push(|| Cause::invalid(field, other.clone(), "must be a string"))
            }
        }
    }

    fn field(&self, name: &str) -> Path {
        Path::new(shortened(self.path.as_str()).into_owned()).child(name)
    }
}
