//! The directives of a patch map, taken out before its fields are merged.

use quorate_meta::{Map, Value};

use super::PatchError;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// What `$patch` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Merge,
    Replace,
    Delete,
}

/// Directives about the lists of a map: list name and operand.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) orders: Vec<(String, Vec<Value>)>,
    pub(super) deletions: Vec<(String, Vec<Value>)>,
}

/// Takes `$patch` out of a map.
pub(super) fn action(patch: &mut Map) -> Result<Action, PatchError> {
    match patch.remove(PATCH) {
        None => Ok(Action::Merge),
        Some(Value::String(text)) => match text.as_str() {
            "merge" => Ok(Action::Merge),
            "replace" => Ok(Action::Replace),
            "delete" => Ok(Action::Delete),
            other => Err(PatchError::new(format!("unknown {PATCH} directive {other:?}"))),
        },
        Some(other) => Err(PatchError::new(format!("{PATCH} is {} instead of string", other.type_name()))),
    }
}

/// Takes `$retainKeys` out of a map: everything else in the original goes.
pub(super) fn retain_keys(original: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let keys = operand(RETAIN_KEYS, keys)?;
    let named = |key: &str| keys.iter().any(|other| other.as_str() == Some(key));
    if let Some(key) = patch.keys().find(|key| !key.starts_with('$') && !named(key)) {
        return Err(PatchError::new(format!("{RETAIN_KEYS} does not name {key:?}, which the patch sets")));
    }
    original.retain(|key, _| named(key));
    Ok(())
}

/// Takes the directives about lists out of a map.
pub(super) fn lists(patch: &mut Map) -> Result<Lists, PatchError> {
    let mut lists = Lists::default();
    let names: Vec<String> = patch.keys().filter(|key| key.starts_with('$')).map(str::to_owned).collect();
    for name in names {
        let Some(value) = patch.remove(&name) else { continue };
        if let Some(list) = name.strip_prefix(SET_ORDER) {
            lists.orders.push((list.to_owned(), operand(&name, value)?));
        } else if let Some(list) = name.strip_prefix(DELETE_FROM) {
            lists.deletions.push((list.to_owned(), operand(&name, value)?));
        } else {
            patch.insert(name, value);
        }
    }
    Ok(lists)
}

fn operand(directive: &str, value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(PatchError::new(format!("{directive} is {} instead of array", other.type_name()))),
    }
}
