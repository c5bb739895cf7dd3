//! Well-known messages as an expression writes them; they are the values that they stand for.

use std::sync::Arc;

use super::{Context, EvalError, Evaluated, evaluate};
use crate::library::mutation;
use crate::library::time::{Duration, Timestamp};
use crate::plan::node::MessageNode;
use crate::value::{List, Map, Opaque, Table, Value};

/// Cost of a message.
const MESSAGE_COST: u64 = 40;

/// A message without fields.
#[derive(Debug)]
struct Empty;

impl Opaque for Empty {
    fn type_name(&self) -> &str {
        "google.protobuf.Empty"
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        Ok(other.as_opaque::<Self>().is_some())
    }

    fn text(&self) -> String {
        String::new()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

pub(super) fn message<'a>(message: &'a MessageNode, context: &mut Context<'a>) -> Evaluated<'a> {
    let made = made(message, context);
    if let Err(error) = &made
        && error.is_final()
    {
        return made;
    }
    context.charge(MESSAGE_COST)?;
    made
}

fn made<'a>(message: &'a MessageNode, context: &mut Context<'a>) -> Evaluated<'a> {
    let mut fields: Vec<(&str, Value<'a>)> = Vec::with_capacity(message.fields.len());
    for field in &message.fields {
        let value = evaluate(&field.value, context)?;
        match value {
            value if !field.optional => fields.push((&field.name, value)),
            Value::Optional(None) => {}
            Value::Optional(Some(held)) => fields.push((&field.name, Value::clone(&held))),
            _ => return Err(EvalError::no_such_overload()),
        }
    }
    mutation::construct(&message.type_name, &fields)
        .unwrap_or_else(|| of_fields(&message.type_name, &fields))
}

fn of_fields<'a>(type_name: &str, fields: &[(&str, Value<'a>)]) -> Evaluated<'a> {
    let set = |name: &str| {
        let field =
            fields.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        field.filter(|value| !matches!(value, Value::Null))
    };
    let whole = |name: &str| match set(name) {
        None => Ok(0),
        Some(Value::Int(value)) => Ok(value),
        Some(other) => Err(field_error(type_name, name, &other)),
    };
    let value = |zero: Value<'a>| set("value").unwrap_or(zero);
    Ok(match type_name.trim_start_matches("google.protobuf.") {
        "BoolValue" => value(Value::Bool(false)),
        "BytesValue" => value(Value::bytes(Vec::new())),
        "DoubleValue" => value(Value::Double(0.0)),
        "FloatValue" => single(value(Value::Double(0.0))),
        "Int64Value" => value(Value::Int(0)),
        "Int32Value" => int32(value(Value::Int(0)))?,
        "StringValue" => value(Value::string("")),
        "UInt64Value" => value(Value::Uint(0)),
        "UInt32Value" => uint32(value(Value::Uint(0)))?,
        "Duration" => {
            let nanos =
                i32::try_from(whole("nanos")?).map_err(|_| EvalError::new("integer overflow"))?;
            Value::Duration(
                Duration::from_parts(whole("seconds")?, nanos)
                    .ok_or(EvalError::new("integer overflow"))?,
            )
        }
        "Timestamp" => {
            let nanos =
                u32::try_from(whole("nanos")?).map_err(|_| EvalError::new("integer overflow"))?;
            Value::Timestamp(
                Timestamp::from_unix(whole("seconds")?, nanos).map_err(EvalError::new)?,
            )
        }
        "ListValue" => set("values").unwrap_or_else(|| Value::List(List::from(Vec::new()))),
        "Struct" => set("fields").unwrap_or_else(|| Value::Map(Map::from(Table::new()))),
        "Value" => dynamic(fields),
        "Empty" => Value::Opaque(Arc::new(Empty)),
        _ => {
            return Err(EvalError::new("unsupported conversion to ref.Val: (*dynamicpb.Message)"));
        }
    })
}

fn field_error(type_name: &str, name: &str, value: &Value<'_>) -> EvalError {
    let found = value.type_name();
    EvalError::new(format!("unsupported field type for {type_name}.{name}: {found}"))
}

/// The one of a dynamic value's fields that is set.
fn dynamic<'a>(fields: &[(&str, Value<'a>)]) -> Value<'a> {
    match fields.last() {
        Some(("null_value", _)) | None => Value::Null,
        Some((_, value)) => value.clone(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the field holds a single")]
fn single(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Double(value) => Value::Double(f64::from(value as f32)),
        value => value,
    }
}

fn int32(value: Value<'_>) -> Evaluated<'_> {
    match value {
        Value::Int(value) if i32::try_from(value).is_err() => {
            Err(EvalError::new("integer overflow"))
        }
        value => Ok(value),
    }
}

fn uint32(value: Value<'_>) -> Evaluated<'_> {
    match value {
        Value::Uint(value) if u32::try_from(value).is_err() => {
            Err(EvalError::new("unsigned integer overflow"))
        }
        value => Ok(value),
    }
}
