//! The strategic merge of lists: objects by merge key, or scalars as a set.

use std::collections::HashMap;

use quorate_meta::{Map, Value};

use super::directive::{self, Action};
use super::identity::By;
use super::map::{self, message_of};
use super::{PatchError, order};
use crate::graph::{Field, Graph, Shape, TypeDef};

/// The result of `patch` on `original`, in the order of `order` or of the patch.
pub(super) fn merge(
    graph: &Graph,
    field: Option<&Field>,
    original: Vec<Value>,
    patch: Vec<Value>,
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    let merges = field.is_some_and(|field| field.patch.merge);
    if !merges {
        return Ok(if patch.is_empty() && order.is_some() { original } else { patch });
    }
    match field.and_then(|field| field.patch.key.as_deref()) {
        None => scalars(original, &patch, order),
        Some(key) => {
            let element = field.and_then(|field| element_type(graph, field));
            keyed(graph, element, key, original, patch, order)
        }
    }
}

fn element_type<'g>(graph: &'g Graph, field: &Field) -> Option<&'g TypeDef> {
    match &field.shape {
        Shape::List(inner) => message_of(graph, inner),
        _ => None,
    }
}

fn scalars(
    original: Vec<Value>,
    patch: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(order) = order {
        covered(patch, order, By::Value)?;
    }
    let mut known = By::Value.all(&original);
    let added: Vec<&Value> = patch.iter().filter(|item| known.insert(By::Value.of(item))).collect();
    let merged = original.iter().chain(added).cloned().collect();
    Ok(order::arrange(merged, order.unwrap_or(patch), &original, By::Value))
}

fn keyed(
    graph: &Graph,
    element: Option<&TypeDef>,
    key: &str,
    original: Vec<Value>,
    patch: Vec<Value>,
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    let by = By::Key(key);
    let Split { replace, gone, changes } = split(key, patch)?;
    if let Some(order) = order {
        covered(&changes, order, by)?;
    }
    let gone = by.all(&gone);
    let kept = original.iter().filter(|item| !replace && !gone.contains(&by.of(item)));
    let mut merged: Vec<Value> = Vec::with_capacity(original.len());
    let mut places = HashMap::with_capacity(original.len());
    for item in kept {
        places.entry(by.of(item)).or_insert(merged.len());
        merged.push(item.clone());
    }
    for change in &changes {
        let Value::Map(patch) = change.clone() else {
            continue;
        };
        match places.get(&by.of(change)) {
            Some(&at) => {
                let before = merged[at].as_map_mut().map(std::mem::take).unwrap_or_default();
                merged[at] = Value::Map(map::merge(graph, element, before, patch)?);
            }
            None => {
                places.insert(by.of(change), merged.len());
                merged.push(Value::Map(map::merge(graph, element, Map::new(), patch)?));
            }
        }
    }
    Ok(order::arrange(merged, order.unwrap_or(&changes), &original, by))
}

/// The elements of a patch list by directive.
struct Split {
    /// Whether the original list is dropped.
    replace: bool,
    /// Elements to remove.
    gone: Vec<Value>,
    /// Elements to merge or add.
    changes: Vec<Value>,
}

fn split(key: &str, patch: Vec<Value>) -> Result<Split, PatchError> {
    let mut split = Split { replace: false, gone: Vec::new(), changes: Vec::new() };
    for item in patch {
        let Value::Map(mut item) = item else {
            return Err(PatchError::new(format!(
                "an element of a list merged by {key:?} is {}",
                item.type_name()
            )));
        };
        let action = directive::action(&mut item)?;
        if action == Action::Replace {
            split.replace = true;
            if item.is_empty() {
                continue;
            }
        }
        if !item.contains_key(key) {
            return Err(PatchError::new(format!(
                "an element of a merged list does not have its merge key {key:?}"
            )));
        }
        match action {
            Action::Delete => split.gone.push(Value::Map(item)),
            Action::Merge | Action::Replace => split.changes.push(Value::Map(item)),
        }
    }
    Ok(split)
}

/// Checks that an order list names every element of the patch.
fn covered(patch: &[Value], order: &[Value], by: By<'_>) -> Result<(), PatchError> {
    let named = by.all(order);
    if patch.iter().all(|item| named.contains(&by.of(item))) {
        return Ok(());
    }
    Err(PatchError::new("$setElementOrder does not name every element of the patched list"))
}
