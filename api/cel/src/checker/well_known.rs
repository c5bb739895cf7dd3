//! The well-known messages of Protocol Buffers, which every environment can build.
//!
//! Invariant: each is known to the checker by the type it becomes. Not here: the other names of types (the library).

use std::sync::Arc;

use crate::ast::Literal;
use crate::types::Type;

/// The type of a field; none when the message is not known, `Some(None)` when it has no such field.
pub(super) fn field(message: &str, field: &str) -> Option<Option<Type>> {
    let json_list = || Type::List(Arc::new(Type::Dyn));
    let json_map = || Type::Map(Arc::new(Type::String), Arc::new(Type::Dyn));
    let value = |value_type: Type| (field == "value").then_some(value_type);
    Some(match message.strip_prefix("google.protobuf.")? {
        "Timestamp" | "Duration" => matches!(field, "seconds" | "nanos").then_some(Type::Int),
        "Any" => match field {
            "type_url" => Some(Type::String),
            "value" => Some(Type::Bytes),
            _ => None,
        },
        "BoolValue" => value(Type::Bool),
        "BytesValue" => value(Type::Bytes),
        "DoubleValue" | "FloatValue" => value(Type::Double),
        "Int32Value" | "Int64Value" => value(Type::Int),
        "UInt32Value" | "UInt64Value" => value(Type::Uint),
        "StringValue" => value(Type::String),
        "ListValue" => (field == "values").then(json_list),
        "Struct" => (field == "fields").then(json_map),
        "Value" => match field {
            "null_value" => Some(Type::Int),
            "number_value" => Some(Type::Double),
            "string_value" => Some(Type::String),
            "bool_value" => Some(Type::Bool),
            "struct_value" => Some(json_map()),
            "list_value" => Some(json_list()),
            _ => None,
        },
        "FieldMask" => (field == "paths").then(|| Type::List(Arc::new(Type::String))),
        "Empty" => None,
        _ => return None,
    })
}

/// The name of the message that a type is built by; none when it is no message's.
pub(super) fn message_name(of: &Type) -> Option<&str> {
    Some(match of {
        Type::Any => "google.protobuf.Any",
        Type::Timestamp => "google.protobuf.Timestamp",
        Type::Duration => "google.protobuf.Duration",
        Type::Dyn => "google.protobuf.Value",
        Type::Null => "google.protobuf.NullValue",
        Type::Wrapper(inner) => match **inner {
            Type::Bool => "google.protobuf.BoolValue",
            Type::Bytes => "google.protobuf.BytesValue",
            Type::Double => "google.protobuf.DoubleValue",
            Type::Int => "google.protobuf.Int64Value",
            Type::String => "google.protobuf.StringValue",
            Type::Uint => "google.protobuf.UInt64Value",
            _ => return None,
        },
        Type::List(element) if **element == Type::Dyn => "google.protobuf.ListValue",
        Type::Map(key, value) if (&**key, &**value) == (&Type::String, &Type::Dyn) => {
            "google.protobuf.Struct"
        }
        Type::Object(name) => name,
        _ => return None,
    })
}

/// The type that a message's name stands for.
pub(super) fn named(name: &str) -> Option<Type> {
    let wrapper = |inner| Type::Wrapper(Arc::new(inner));
    Some(match name.strip_prefix("google.protobuf.")? {
        "Any" => Type::Any,
        "BoolValue" => wrapper(Type::Bool),
        "BytesValue" => wrapper(Type::Bytes),
        "DoubleValue" | "FloatValue" => wrapper(Type::Double),
        "Duration" => Type::Duration,
        "Empty" | "FieldMask" => Type::Object(name.into()),
        "Int32Value" | "Int64Value" => wrapper(Type::Int),
        "ListValue" => Type::List(Arc::new(Type::Dyn)),
        "StringValue" => wrapper(Type::String),
        "Struct" => Type::Map(Arc::new(Type::String), Arc::new(Type::Dyn)),
        "Timestamp" => Type::Timestamp,
        "UInt32Value" | "UInt64Value" => wrapper(Type::Uint),
        "Value" => Type::Dyn,
        _ => return None,
    })
}

/// A named constant of an enumeration.
pub(super) fn constant(name: &str) -> Option<Literal> {
    (name == "google.protobuf.NullValue.NULL_VALUE").then_some(Literal::Int(0))
}
