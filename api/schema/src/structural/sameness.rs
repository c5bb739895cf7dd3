//! Whether a value stays as it was, as the ratcheting of rules asks (KEP-4008).
//!
//! Fields that no schema describes cannot be held against older ones, so a value with such fields
//! never stays as it was. Elements of lists of type map are compared by their keys, other lists as a
//! whole.

use std::collections::HashMap;

use quorate_meta::{Map, Value};

use super::Structural;
use super::node::{Additional, NodeId, SchemaNode};
use crate::graph::ListKind;

impl Structural {
    /// Whether the value of a place stays as it was.
    #[must_use]
    pub fn is_same(&self, place: NodeId, old: &Value, new: &Value) -> bool {
        let node = self.node(place);
        match (old, new) {
            (Value::Map(old), Value::Map(new)) => self.same_entries(node, old, new),
            (Value::List(old), Value::List(new)) => self.same_items(node, old, new),
            (old, new) => old == new,
        }
    }

    fn same_entries(&self, node: &SchemaNode, old: &Map, new: &Map) -> bool {
        let is_same = |(name, new): (&str, &Value)| {
            let place = match (node.property(name), node.additional) {
                (Some(id), _) | (None, Additional::Schema(id)) => id,
                _ => return false,
            };
            old.get(name).is_some_and(|old| self.is_same(place, old, new))
        };
        old.len() == new.len() && new.iter().all(is_same)
    }

    fn same_items(&self, node: &SchemaNode, old: &[Value], new: &[Value]) -> bool {
        let Some(place) = node.items.filter(|_| matches!(node.list, Some(ListKind::Map(_)))) else {
            return old == new;
        };
        let known = by_keys(node, old);
        let is_same = |new: &Value| {
            let old = keys(node, new).and_then(|keys| known.get(&keys).copied());
            old.is_some_and(|old| self.is_same(place, old, new))
        };
        old.len() == new.len() && new.iter().all(is_same)
    }
}

/// The elements of a list of type map by their keys, the first where two have the same; those of
/// other lists cannot be told apart.
#[must_use]
pub fn by_keys<'v>(node: &SchemaNode, items: &'v [Value]) -> HashMap<String, &'v Value> {
    items.iter().rev().filter_map(|item| Some((keys(node, item)?, item))).collect()
}

/// What tells an element of a list of type map from the others; `None` in other lists.
#[must_use]
pub fn keys(node: &SchemaNode, item: &Value) -> Option<String> {
    let Some(ListKind::Map(keys)) = &node.list else {
        return None;
    };
    let values: Vec<Option<&Value>> = keys.iter().map(|key| item.get(key)).collect();
    serde_json::to_string(&values).ok()
}
