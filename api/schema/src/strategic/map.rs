//! The strategic merge of maps: messages by field with their strategies, other maps as a JSON merge
//! patch (RFC 7386).

use std::collections::BTreeMap;

use quorate_meta::{Map, Value};

use super::directive::{self, Action, Lists};
use super::identity::By;
use super::{PatchError, list};
use crate::graph::{Field, Graph, Shape, TypeDef};

/// The result of `patch` on `original`; `ty` is `None` without a schema.
pub(super) fn merge(
    graph: &Graph,
    ty: Option<&TypeDef>,
    mut original: Map,
    mut patch: Map,
) -> Result<Map, PatchError> {
    match directive::action(&mut patch)? {
        Action::Delete => return Ok(Map::new()),
        Action::Replace => return Ok(patch),
        Action::Merge => {}
    }
    directive::retain_keys(&mut original, &mut patch)?;
    let Lists { orders, deletions } = directive::lists(&mut patch)?;
    for (name, gone) in &deletions {
        if let Some(Value::List(items)) = original.get_mut(name) {
            let gone = By::Value.all(gone);
            items.retain(|item| !gone.contains(&By::Value.of(item)));
        }
    }
    merge_ordered(graph, ty, &mut original, &mut patch, orders)?;
    original.merge_with(patch, |name, before, change| {
        let field = ty.and_then(|ty| ty.property(name));
        if change.is_null() { Ok(None) } else { value(graph, field, before, change).map(Some) }
    })?;
    Ok(original)
}

/// Merges the lists whose order the patch names, and removes them from the patch.
fn merge_ordered(
    graph: &Graph,
    ty: Option<&TypeDef>,
    original: &mut Map,
    patch: &mut Map,
    orders: BTreeMap<String, Vec<Value>>,
) -> Result<(), PatchError> {
    if orders.is_empty() {
        return Ok(());
    }
    let (mut changes, mut asked) = (BTreeMap::new(), Vec::with_capacity(orders.len()));
    patch.retain(|name, change| {
        let ordered = orders.contains_key(name);
        if ordered {
            changes.insert(name.to_owned(), std::mem::take(change));
        }
        !ordered
    });
    for (name, order) in orders {
        if changes.contains_key(&name) || original.contains_key(&name) {
            asked.push((name.into(), Value::List(order)));
        }
    }
    original.merge_with(Map::from_entries(asked).0, |name, before, order| {
        let change = changes.remove(name);
        if change == Some(Value::Null) {
            return Ok(None);
        }
        let field = ty.and_then(|ty| ty.property(name));
        let (before, change) = (take_list(name, before)?, take_list(name, change)?);
        list::merge(graph, field, before, change, order.as_list())
            .map(|merged| Some(Value::List(merged)))
    })
}

/// The value of a field after a change that is not `null`.
fn value(
    graph: &Graph,
    field: Option<&Field>,
    before: Option<Value>,
    change: Value,
) -> Result<Value, PatchError> {
    let strategy = field.map(|field| &field.patch);
    match change {
        Value::Map(change) => {
            let replace = strategy.is_some_and(|patch| patch.replace && !patch.merge);
            let original = match before {
                Some(Value::Map(original)) if !replace => original,
                _ => Map::new(),
            };
            let inner = field.and_then(|field| message_of(graph, &field.shape));
            let entries = field.and_then(|field| entry_shape(&field.shape));
            match entries {
                Some(shape) => merge_entries(graph, shape, original, change).map(Value::Map),
                None => merge(graph, inner, original, change).map(Value::Map),
            }
        }
        Value::List(change) if strategy.is_some_and(|patch| patch.merge) => {
            let original = match before {
                Some(Value::List(original)) => original,
                _ => Vec::new(),
            };
            list::merge(graph, field, original, change, None).map(Value::List)
        }
        change => Ok(change),
    }
}

/// Merges a map with string keys whose values are messages, each value as its message.
fn merge_entries(
    graph: &Graph,
    shape: &Shape,
    mut original: Map,
    mut patch: Map,
) -> Result<Map, PatchError> {
    match directive::action(&mut patch)? {
        Action::Delete => return Ok(Map::new()),
        Action::Replace => return Ok(patch),
        Action::Merge => {}
    }
    original.merge_with(patch, |_, before, change| match (before, change) {
        (_, Value::Null) => Ok(None),
        (Some(Value::Map(before)), Value::Map(change)) => {
            merge(graph, message_of(graph, shape), before, change).map(Value::Map).map(Some)
        }
        (_, change) => Ok(Some(change)),
    })?;
    Ok(original)
}

fn take_list(name: &str, value: Option<Value>) -> Result<Vec<Value>, PatchError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::List(items)) => Ok(items),
        Some(other) => {
            Err(PatchError::new(format!("{name} is {} instead of array", other.type_name())))
        }
    }
}

pub(super) fn message_of<'g>(graph: &'g Graph, shape: &Shape) -> Option<&'g TypeDef> {
    match shape {
        Shape::Message(id) => Some(graph.ty(*id)),
        _ => None,
    }
}

fn entry_shape(shape: &Shape) -> Option<&Shape> {
    match shape {
        Shape::Map(inner) => Some(inner),
        _ => None,
    }
}
