//! Merging maps: messages field by field with their strategies, free maps as a plain merge patch.

use quorate_meta::{Map, Value};

use super::directive::{self, Action};
use super::{PatchError, list};
use crate::graph::{Field, Graph, Shape, TypeDef};

/// The map that results from `patch` on `original`; `ty` is `None` where the schema says nothing.
pub(super) fn merge(graph: &Graph, ty: Option<&TypeDef>, mut original: Map, mut patch: Map) -> Result<Map, PatchError> {
    match directive::action(&mut patch)? {
        Action::Delete => return Ok(Map::new()),
        Action::Replace => return Ok(patch),
        Action::Merge => {}
    }
    directive::retain_keys(&mut original, &mut patch)?;
    let lists = directive::lists(&mut patch)?;
    for (name, gone) in &lists.deletions {
        if let Some(Value::List(items)) = original.get_mut(name) {
            list::affordable(items.len(), gone.len())?;
            items.retain(|item| !gone.contains(item));
        }
    }
    for (name, order) in &lists.orders {
        let field = ty.and_then(|ty| ty.property(name));
        let (before, change) = (original.get(name).is_some(), patch.remove(name));
        if change == Some(Value::Null) {
            original.remove(name);
        } else if before || change.is_some() {
            let items = take_list(name, original.remove(name))?;
            let merged = list::merge(graph, field, items, take_list(name, change)?, Some(order))?;
            original.insert(name.as_str(), Value::List(merged));
        }
    }
    original.merge_with(patch, |name, before, change| {
        let field = ty.and_then(|ty| ty.property(name));
        if change.is_null() { Ok(None) } else { value(graph, field, before, change).map(Some) }
    })?;
    Ok(original)
}

/// The value of a field after a change that is not `null`.
fn value(graph: &Graph, field: Option<&Field>, before: Option<Value>, change: Value) -> Result<Value, PatchError> {
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

/// A map with string keys whose values are messages: the keys are merged, each value as its message.
fn merge_entries(graph: &Graph, shape: &Shape, mut original: Map, mut patch: Map) -> Result<Map, PatchError> {
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
        Some(other) => Err(PatchError::new(format!("{name} is {} instead of array", other.type_name()))),
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
