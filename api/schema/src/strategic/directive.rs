//! The directives of a strategic merge patch, removed from a map before its fields are merged.

use std::collections::{BTreeMap, HashSet};

use quorate_meta::{Map, Value};

use super::PatchError;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// The value of `$patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Merge,
    Replace,
    Delete,
}

/// Directives about the lists of a map: operands by the name of the list.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) orders: BTreeMap<String, Vec<Value>>,
    pub(super) deletions: BTreeMap<String, Vec<Value>>,
}

/// Removes `$patch` from a map.
pub(super) fn action(patch: &mut Map) -> Result<Action, PatchError> {
    match patch.remove(PATCH) {
        None => Ok(Action::Merge),
        Some(Value::String(text)) => match text.as_str() {
            "merge" => Ok(Action::Merge),
            "replace" => Ok(Action::Replace),
            "delete" => Ok(Action::Delete),
            other => Err(PatchError::new(format!("unknown {PATCH} directive {other:?}"))),
        },
        Some(other) => {
            Err(PatchError::new(format!("{PATCH} is {} instead of string", other.type_name())))
        }
    }
}

/// Removes `$retainKeys` from a map; other keys of the original are dropped.
pub(super) fn retain_keys(original: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let keys = operand("retainKeys", keys)?;
    let named: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let sets = |(key, value): (&str, &Value)| {
        !value.is_null() && !key.starts_with('$') && !named.contains(key)
    };
    if patch.iter().any(sets) {
        return Err(PatchError::Malformed("retainKeys"));
    }
    original.retain(|key, _| named.contains(key));
    Ok(())
}

/// Removes the directives about lists from a map.
pub(super) fn lists(patch: &mut Map) -> Result<Lists, PatchError> {
    let mut lists = Lists::default();
    let mut failed = None;
    patch.retain(|name, value| {
        let (of, list, what) = match (name.strip_prefix(SET_ORDER), name.strip_prefix(DELETE_FROM))
        {
            (Some(list), _) => (&mut lists.orders, list, "setElementOrder list"),
            (None, Some(list)) => (&mut lists.deletions, list, "primitive list"),
            (None, None) => return true,
        };
        match operand(what, std::mem::take(value)) {
            Ok(items) => drop(of.insert(list.to_owned(), items)),
            Err(error) => drop(failed.get_or_insert(error)),
        }
        false
    });
    failed.map_or(Ok(lists), Err)
}

fn operand(what: &'static str, value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::List(items) => Ok(items),
        _ => Err(PatchError::Malformed(what)),
    }
}
