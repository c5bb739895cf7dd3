//! Types as records write them: `"int"`, `{"list": T}`, `{"map": [K, V]}`, `{"message": name}`, `{"type": T}`.

use std::sync::Arc;

use quorate_meta as data;
use quorate_meta::Naming;

use super::MalformedRecord;
use crate::naming::from_profile;
use crate::types::Type;

/// Reads a type; those of libraries have the names of `naming`.
///
/// # Errors
/// When the JSON is no type.
pub fn decode_type(json: &data::Value, naming: Naming) -> Result<Type, MalformedRecord> {
    let malformed = || MalformedRecord("a type has a known name or one known key".to_owned());
    if let Some(name) = json.as_str() {
        return simple(name).ok_or_else(malformed);
    }
    let (tag, held) = json.as_map().and_then(|map| map.iter().next()).ok_or_else(malformed)?;
    Ok(match (tag, held) {
        ("list", element) => Type::List(Arc::new(decode_type(element, naming)?)),
        ("map", data::Value::List(pair)) => match &pair[..] {
            [key, value] => Type::Map(
                Arc::new(decode_type(key, naming)?),
                Arc::new(decode_type(value, naming)?),
            ),
            _ => return Err(malformed()),
        },
        ("type", named) => Type::Type(Arc::new(decode_type(named, naming)?)),
        ("message", data::Value::String(name)) => message(name, naming),
        _ => return Err(malformed()),
    })
}

fn simple(name: &str) -> Option<Type> {
    Some(match name {
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "bool" => Type::Bool,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null" => Type::Null,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "dyn" => Type::Dyn,
        _ => return None,
    })
}

/// The type of a message: well-known ones stand for types of the language.
fn message(name: &str, naming: Naming) -> Type {
    let wrapper = |wrapped| Type::Wrapper(Arc::new(wrapped));
    match name.strip_prefix("google.protobuf.").unwrap_or_default() {
        "Timestamp" => Type::Timestamp,
        "Duration" => Type::Duration,
        "Any" => Type::Any,
        "Value" => Type::Dyn,
        "ListValue" => Type::List(Arc::new(Type::Dyn)),
        "Struct" => Type::Map(Arc::new(Type::String), Arc::new(Type::Dyn)),
        "BoolValue" => wrapper(Type::Bool),
        "BytesValue" => wrapper(Type::Bytes),
        "DoubleValue" | "FloatValue" => wrapper(Type::Double),
        "Int32Value" | "Int64Value" => wrapper(Type::Int),
        "StringValue" => wrapper(Type::String),
        "UInt32Value" | "UInt64Value" => wrapper(Type::Uint),
        _ => Type::Object(from_profile(naming, name).into()),
    }
}
