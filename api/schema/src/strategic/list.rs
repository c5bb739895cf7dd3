//! Merging lists: elements told apart by their merge key, or scalars as a set.

use quorate_meta::{Map, Value};

use super::directive::{self, Action};
use super::map::{self, message_of};
use super::{PatchError, order};
use crate::graph::{Field, Graph, Shape, TypeDef};

/// Pairs of elements that one merge may compare, which is enough for lists of 4,000.
const MAX_COMPARISONS: usize = 16_000_000;

/// The list that results from `patch` on `original`, in the order that `order` names or the patch has.
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
    let elements = original.len() + patch.len();
    affordable(elements, elements + order.map_or(0, <[Value]>::len))?;
    match field.and_then(|field| field.patch.key.as_deref()) {
        None => scalars(original, patch, order),
        Some(key) => {
            let element = field.and_then(|field| element_type(graph, field));
            keyed(graph, element, key, original, patch, order)
        }
    }
}

/// Refuses lists whose elements it would take too long to compare with each other.
pub(super) fn affordable(elements: usize, others: usize) -> Result<(), PatchError> {
    if elements.saturating_mul(others) <= MAX_COMPARISONS {
        return Ok(());
    }
    Err(PatchError::new("the lists are too long to be merged element by element; use another kind of patch"))
}

fn element_type<'g>(graph: &'g Graph, field: &Field) -> Option<&'g TypeDef> {
    match &field.shape {
        Shape::List(inner) => message_of(graph, inner),
        _ => None,
    }
}

fn scalars(original: Vec<Value>, patch: Vec<Value>, order: Option<&[Value]>) -> Result<Vec<Value>, PatchError> {
    if let Some(order) = order {
        covered(&patch, order, |item, other| item == other)?;
    }
    let mut merged = original.clone();
    for item in &patch {
        if !merged.contains(item) {
            merged.push(item.clone());
        }
    }
    Ok(order::arrange(merged, order.unwrap_or(&patch), &original, |item, other| item == other))
}

fn keyed(
    graph: &Graph,
    element: Option<&TypeDef>,
    key: &str,
    original: Vec<Value>,
    patch: Vec<Value>,
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    let same = |item: &Value, other: &Value| item.get(key) == other.get(key);
    let Split { replace, gone, changes } = split(key, patch)?;
    if let Some(order) = order {
        covered(&changes, order, same)?;
    }
    let mut merged = if replace { Vec::new() } else { original.clone() };
    merged.retain(|item| !gone.iter().any(|other| same(item, other)));
    for change in &changes {
        let Value::Map(patch) = change.clone() else { continue };
        match merged.iter_mut().find(|item| same(item, change)) {
            Some(item) => {
                let before = item.as_map_mut().map(std::mem::take).unwrap_or_default();
                *item = Value::Map(map::merge(graph, element, before, patch)?);
            }
            None => merged.push(Value::Map(map::merge(graph, element, Map::new(), patch)?)),
        }
    }
    Ok(order::arrange(merged, order.unwrap_or(&changes), &original, same))
}

/// A patch list by what its elements ask for.
struct Split {
    /// The original list goes.
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
            return Err(PatchError::new(format!("an element of a list merged by {key:?} is {}", item.type_name())));
        };
        let action = directive::action(&mut item)?;
        if action == Action::Replace {
            split.replace = true;
            if item.is_empty() {
                continue;
            }
        }
        if !item.contains_key(key) {
            return Err(PatchError::new(format!("an element of a merged list does not have its merge key {key:?}")));
        }
        match action {
            Action::Delete => split.gone.push(Value::Map(item)),
            Action::Merge | Action::Replace => split.changes.push(Value::Map(item)),
        }
    }
    Ok(split)
}

/// An order list must name every element that the patch has.
fn covered(patch: &[Value], order: &[Value], same: impl Fn(&Value, &Value) -> bool) -> Result<(), PatchError> {
    if patch.iter().all(|item| order.iter().any(|other| same(item, other))) {
        return Ok(());
    }
    Err(PatchError::new("$setElementOrder does not name every element of the patched list"))
}
