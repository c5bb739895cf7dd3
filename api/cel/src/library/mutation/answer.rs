//! What the expressions of mutating policies answer, as data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quorate_meta as data;

use super::types::{JSON_PATCH, OBJECT};
use crate::value::{Map, Value};

/// The integers that JSON numbers hold exactly lie between its negative and itself, both left out.
const EXACT_INTEGERS: i64 = 1 << 53;
/// How deep answers may be nested.
const MAX_DEPTH: usize = 250;

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(String);

/// An operation of a JSON patch, as it was built; nothing of it is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchOperation {
    /// What to do.
    pub op: String,
    /// Where.
    pub path: String,
    /// Where from.
    pub from: String,
    /// The value, unless there is none.
    pub value: Option<data::Value>,
}

/// The operations of a list of `JSONPatch`.
pub fn patch_operations(answer: &Value<'_>) -> Result<Vec<PatchOperation>, AnswerError> {
    let wrong = |found: &str| {
        AnswerError(format!(
            "type mismatch: JSONPatchType.expression should evaluate to array, but got {found}"
        ))
    };
    let Value::List(items) = answer else {
        return Err(wrong(answer.type_name()));
    };
    items.iter().map(|item| operation(&item)).collect()
}

fn operation(item: &Value<'_>) -> Result<PatchOperation, AnswerError> {
    let map = match item {
        Value::Map(map) if map.type_name() == Some(JSON_PATCH) => map,
        item => {
            return Err(AnswerError(format!(
                "type mismatch: expected {JSON_PATCH}, but got {}",
                item.type_name()
            )));
        }
    };
    let text = |name: &str| {
        map.get_str(name).and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let value = map.get_str("value").map(|value| to_data(&value, 0)).transpose()?;
    Ok(PatchOperation { op: text("op"), path: text("path"), from: text("from"), value })
}

/// The fields of an `Object`; objects in it have to be of the types that their places name.
pub fn applied_object(answer: &Value<'_>) -> Result<data::Map, AnswerError> {
    let map = match answer {
        Value::Map(map) if map.type_name().is_some() => map,
        answer => {
            return Err(AnswerError(format!(
                "unsupported return type from ApplyConfiguration expression: {}",
                answer.type_name()
            )));
        }
    };
    let mut wrong = Vec::new();
    misnamed(answer, OBJECT, 0, &mut wrong);
    if !wrong.is_empty() {
        return Err(AnswerError(format!("type mismatch: {}", wrong.join("\n"))));
    }
    map_to_data(map, 0)
}

/// Collects the objects whose type is not that of their place.
fn misnamed(value: &Value<'_>, place: &str, depth: usize, wrong: &mut Vec<String>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::List(items) => {
            items.iter().for_each(|item| misnamed(&item, place, depth + 1, wrong))
        }
        Value::Map(map) => {
            let Some(name) = map.type_name() else {
                return map.iter().for_each(|(_, value)| misnamed(&value, place, depth + 1, wrong));
            };
            if name != place {
                wrong.push(format!(
                    "unexpected type name \"{name}\", expected \"{place}\", which matches field name path from root \
                     Object type"
                ));
            }
            for (field, value) in map.iter() {
                let field = field.as_str().unwrap_or_default();
                misnamed(&value, &format!("{place}.{field}"), depth + 1, wrong);
            }
        }
        _ => {}
    }
}

fn to_data(value: &Value<'_>, depth: usize) -> Result<data::Value, AnswerError> {
    if depth > MAX_DEPTH {
        return Err(AnswerError(format!("values are nested more than {MAX_DEPTH} deep")));
    }
    Ok(match value {
        Value::Null => data::Value::Null,
        Value::Bool(value) => data::Value::Bool(*value),
        Value::Int(value) if value.unsigned_abs() >= EXACT_INTEGERS.unsigned_abs() => {
            data::Value::String(value.to_string())
        }
        Value::Int(value) => data::Value::Int(*value),
        Value::Uint(value) => match i64::try_from(*value) {
            Ok(value) if value < EXACT_INTEGERS => data::Value::Int(value),
            _ => data::Value::String(value.to_string()),
        },
        Value::Double(value) if value.is_finite() => data::Value::Float(*value),
        Value::String(text) => data::Value::String(text.to_string()),
        Value::Bytes(bytes) => data::Value::String(STANDARD.encode(&**bytes)),
        Value::Timestamp(value) => data::Value::String(value.to_string()),
        Value::Duration(value) => data::Value::String(value.to_string()),
        Value::List(items) => data::Value::List(
            items.iter().map(|item| to_data(&item, depth + 1)).collect::<Result<_, _>>()?,
        ),
        Value::Map(map) => data::Value::Map(map_to_data(map, depth)?),
        Value::Optional(Some(held)) => return to_data(held, depth + 1),
        Value::Double(_)
        | Value::Type(_)
        | Value::Optional(None)
        | Value::Opaque(_)
        | Value::Error(_) => {
            return Err(AnswerError(format!("{} has no form in JSON", value.type_name())));
        }
    })
}

fn map_to_data(map: &Map<'_>, depth: usize) -> Result<data::Map, AnswerError> {
    let mut fields = data::Map::default();
    for (key, value) in map.iter() {
        let key = key.as_str().ok_or_else(|| {
            AnswerError(format!(
                "keys of maps have to be strings, but one is of type {}",
                key.type_name()
            ))
        })?;
        fields.insert(key, to_data(&value, depth + 1)?);
    }
    Ok(fields)
}
