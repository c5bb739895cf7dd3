//! Lists and maps as an expression writes them.

use super::{Context, EvalError, Evaluated, evaluate};
use crate::plan::node::{EntryNode, ListNode};
use crate::value::{Table, Value};

/// Cost of a list.
const LIST_COST: u64 = 10;
/// Cost of a map.
const MAP_COST: u64 = 30;

pub(super) fn list<'a>(list: &'a ListNode, context: &mut Context<'a>) -> Evaluated<'a> {
    let mut items = Vec::with_capacity(list.elements.len());
    let mut fails = None;
    for (at, element) in list.elements.iter().enumerate() {
        let value = match evaluate(element, context) {
            Ok(value) => value,
            Err(error) if error.is_final() => return Err(error),
            Err(error) => {
                fails = Some(error);
                break;
            }
        };
        let optional = u32::try_from(at).is_ok_and(|at| list.optional.contains(&at));
        match value {
            value if !optional => items.push(value),
            Value::Optional(held) => items.extend(held.map(|held| Value::clone(&held))),
            _ => {
                fails = Some(EvalError::no_such_overload());
                break;
            }
        }
    }
    context.charge(LIST_COST)?;
    fails.map_or_else(|| Ok(Value::list(items)), Err)
}

pub(super) fn map<'a>(entries: &'a [EntryNode], context: &mut Context<'a>) -> Evaluated<'a> {
    let made = map_entries(entries, context);
    if let Err(error) = &made
        && error.is_final()
    {
        return made;
    }
    context.charge(MAP_COST)?;
    made
}

fn map_entries<'a>(entries: &'a [EntryNode], context: &mut Context<'a>) -> Evaluated<'a> {
    let mut table = Table::new();
    for entry in entries {
        let key = evaluate(&entry.key, context)?;
        let value = evaluate(&entry.value, context)?;
        if let Some(host) = unhashable(&key) {
            return Err(EvalError::Internal(host));
        }
        match value {
            value if !entry.optional => {
                table.insert(key, value);
            }
            Value::Optional(None) => {}
            Value::Optional(Some(held)) => {
                table.insert(key, Value::clone(&held));
            }
            _ => return Err(EvalError::no_such_overload()),
        }
    }
    Ok(Value::map(table))
}

/// What the reference engine breaks down with when such a value is a key.
fn unhashable(key: &Value<'_>) -> Option<&'static str> {
    match key {
        Value::Bytes(_) => Some("runtime error: hash of unhashable type types.Bytes"),
        Value::Opaque(value) if value.host_type() == Some("semver.Version") => {
            Some("runtime error: hash of unhashable type cel.Semver")
        }
        _ => None,
    }
}
