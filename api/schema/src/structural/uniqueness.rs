//! Lists of type `set` and `map`: no element comes twice.
//!
//! Elements are the same when their JSON is; of each that comes more than once the second place is told.

use std::collections::HashMap;

use quorate_meta::{Cause, Map, Path, Value};

use super::Structural;
use super::limits::Told;
use super::node::{Additional, NodeId, SchemaNode};
use crate::fieldset::shortened;
use crate::graph::{ListKind, Text};
use crate::path::FieldPath;

/// The elements that come more than once, at every depth.
pub(super) fn duplicates(compiled: &Structural, value: &Value) -> Vec<Cause> {
    if !compiled.below.has_unique(compiled.root) {
        return Vec::new();
    }
    let mut walk = UniquenessCheck { compiled, path: FieldPath::default(), told: Told::default() };
    walk.node(compiled.root, value);
    walk.told.into_causes()
}

struct UniquenessCheck<'c> {
    compiled: &'c Structural,
    path: FieldPath,
    told: Told,
}

impl<'c> UniquenessCheck<'c> {
    fn node(&mut self, id: NodeId, value: &Value) {
        if !self.compiled.below.has_unique(id) {
            return;
        }
        let node = self.compiled.node(id);
        match value {
            Value::List(items) => self.list(node, items),
            Value::Map(map) => self.object(node, map),
            _ => {}
        }
    }

    fn object(&mut self, node: &'c SchemaNode, map: &Map) {
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

    fn list(&mut self, node: &'c SchemaNode, items: &[Value]) {
        match &node.list {
            Some(ListKind::Set) => self.twice(items.iter().cloned()),
            Some(ListKind::Map(keys)) => self.keyed(keys, items),
            _ => {}
        }
        let Some(id) = node.items else { return };
        for (index, item) in items.iter().enumerate() {
            let mark = self.path.push_index(index);
            self.node(id, item);
            self.path.truncate(mark);
        }
    }

    fn keyed(&mut self, keys: &[Text], items: &[Value]) {
        if let Some((index, item)) =
            items.iter().enumerate().find(|(_, item)| !matches!(item, Value::Map(_) | Value::Null))
        {
            let why = "must be an object for an array of list-type map";
            return self.tell(index, |field| Cause::invalid(field, item.clone(), why));
        }
        self.twice(items.iter().map(|item| {
            let given = keys.iter().filter_map(|key| Some((key.as_ref(), item.get(key)?.clone())));
            Value::Map(given.collect::<Map>())
        }));
    }

    fn twice(&mut self, items: impl ExactSizeIterator<Item = Value>) {
        if items.len() < 2 {
            return;
        }
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(items.len());
        for (index, item) in items.enumerate() {
            let count = seen.entry(identity(&item)).or_default();
            *count += 1;
            if *count == 2 {
                self.tell(index, |field| Cause::duplicate(field, item));
            }
        }
    }

    fn tell(&mut self, index: usize, cause: impl FnOnce(Path) -> Cause) {
        let field = Path::new(format!("{}[{index}]", shortened(self.path.as_str())));
        self.told.push(|| cause(field));
    }
}

/// The JSON of a value, which tells `1` from `1.0`.
fn identity(item: &Value) -> String {
    serde_json::to_string(item).unwrap_or_default()
}
