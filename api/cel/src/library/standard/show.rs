//! Values as messages show them.

use super::double::show_double;
use crate::value::Value;

/// A key or index, as messages show it.
pub(crate) fn show(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => show_double(*value),
        Value::String(text) | Value::Type(text) => text.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Timestamp(value) => value.to_string(),
        Value::Duration(value) => value.to_string(),
        Value::Opaque(value) => value.text(),
        Value::List(_) | Value::Map(_) | Value::Optional(_) | Value::Error(_) => {
            value.type_name().to_owned()
        }
    }
}
